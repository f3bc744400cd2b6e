"""Classes made by ``engine.named_tuple.NamedTuple`` beside the standard library's: the same class bodies, the same behaviour."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any, get_type_hints

import pytest

from scanviz.engine import named_tuple


def place(base: Any) -> Any:
    class Place(base):
        """A place."""

        x: int
        y: float = 0.5
        name: str | None = None

        @property
        def twice(self) -> int:
            return 2 * self.x

        def __str__(self) -> str:
            return f"at {self.x}"

    return Place


def bare(base: Any) -> Any:
    class Bare(base):
        x: int

    return Bare


def empty(base: Any) -> Any:
    class Empty(base):
        pass

    return Empty


ACTS = {
    "repr": lambda made: repr(made(1)),
    "str": lambda made: str(made(1)),
    "tuple": lambda made: (tuple(made(1)), made(1) == (1, 0.5, None), hash(made(1)) == hash((1, 0.5, None))),
    "by name": lambda made: made(name="p", x=1),
    "attributes": lambda made: (made(1).x, made(1, 2.0).y, made(1).twice),
    "too few": lambda made: made(),
    "too many": lambda made: made(1, 2.0, "name", 4),
    "unknown": lambda made: made(1, z=1),
    "assigned": lambda made: setattr(made(1), "x", 2),
    "another attribute": lambda made: setattr(made(1), "other", 2),
    "replaced": lambda made: made(1)._replace(y=3.0),
    "made": lambda made: made._make([1, 2.0, "n"]),
    "made wrongly": lambda made: made._make([1]),
    "as dict": lambda made: made(1)._asdict(),
    "fields": lambda made: (made._fields, made._field_defaults, made.__match_args__, made.__slots__),
    "hints": lambda made: get_type_hints(made),
    "parameters": lambda made: list(inspect.signature(made).parameters),
    "copied": lambda made: (copy.copy(made(1)), copy.deepcopy(made(1))),
    "class": lambda made: (made.__doc__, made.__qualname__, made.__module__, made.__bases__, made.x.__doc__),
}


def outcome(act: str, made: Any) -> object:
    try:
        return ACTS[act](made)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("few", [0, 1, named_tuple.FEW, 1000])
@pytest.mark.parametrize("body", [place, bare, empty])
def test_a_class_behaves_as_the_standard_librarys(
    body: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_tuple, "FEW", few)
    ours, theirs = body(named_tuple.NamedTuple), body(typing.NamedTuple)
    assert {act: outcome(act, ours) for act in ACTS} == {act: outcome(act, theirs) for act in ACTS}


class Pickled(named_tuple.NamedTuple):
    x: int
    y: int = 0


class Derived(Pickled):
    __slots__ = ()

    def __new__(cls, x: int) -> Derived:
        return super().__new__(cls, x, 2 * x)


def test_an_instance_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, 2))) == Pickled(1, 2)
    assert type(pickle.loads(pickle.dumps(Pickled(1)))) is Pickled


def test_a_class_may_be_derived_and_make_itself_otherwise() -> None:
    assert Derived(3) == (3, 6)
    assert repr(Derived(3)) == "Derived(x=3, y=6)"
    assert list(inspect.signature(Derived).parameters) == ["x"]


def test_a_pattern_takes_it_apart() -> None:
    match Pickled(1, 2):
        case Pickled(x, y=2):
            assert x == 1
        case _:
            pytest.fail("it does not match")


def test_a_field_that_is_not_there_is_not_replaced() -> None:
    with pytest.raises((TypeError, ValueError), match="'z'"):
        Pickled(1)._replace(z=3.0)  # type: ignore[call-arg]


def test_another_base_is_refused() -> None:
    with pytest.raises(TypeError, match="no other base"):
        type(named_tuple.NamedTuple)("Both", (named_tuple.NamedTuple, Pickled), {})
