"""Classes made by ``engine.slotted.dataclass`` beside the standard library's: the same class bodies, the same behaviour."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import pytest

from scanviz.engine import methods, slotted


def point() -> type:
    class Point:
        """A place."""

        kinds: ClassVar[int] = 3
        x: int
        y: float = 0.5
        seen: list[int] = field(default_factory=list, compare=False, repr=False)
        name: str | None = field(default=None, kw_only=True)

        @property
        def twice(self) -> float:
            return 2 * self.x

    return Point


def checked() -> type:
    class Checked:
        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

    return Checked


def own() -> type:
    class Own:
        x: int
        y: int = 1

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    return Own


OPTIONS = [{"frozen": frozen, "eq": eq} for frozen in (False, True) for eq in (False, True)]


def both(body: Callable[[], type], **options: bool) -> tuple[Any, Any]:
    """Return the class that each of the two decorators makes of the same body."""
    return slotted.dataclass(slots=True, **options)(body()), dataclasses.dataclass(slots=True, **options)(
        body()
    )


def outcome(act: str, made: Any) -> object:
    try:
        return ACTS[act](made)
    except Exception as error:
        return type(error)


ACTS = {
    "repr": lambda made: repr(made(1)),
    "equal": lambda made: (made(1) == made(1), made(1) == made(2), made(1) == 1, made(1, seen=[1]) == made(1)),
    "hash": lambda made: len({made(1), made(1), made(2)}),
    "hashes": lambda made: hash(made(1)) == hash(made(1)),
    "assigned": lambda made: setattr(made(1), "x", 2),
    "deleted": lambda made: delattr(made(1), "x"),
    "too few": lambda made: made(),
    "too many": lambda made: made(1, 2.0, [], "name"),
    "by name": lambda made: repr(made(y=2.0, x=1, name="p")),
    "unknown": lambda made: made(1, z=1),
    "fields": lambda made: [(each.name, each.type, each.compare, each.kw_only) for each in dataclasses.fields(made)],
    "fields of one": lambda made: [each.default for each in dataclasses.fields(made(1))],
    "replaced": lambda made: repr(dataclasses.replace(made(1), y=3.0)),
    "as dict": lambda made: dataclasses.asdict(made(1)),
    "is one": lambda made: (dataclasses.is_dataclass(made), dataclasses.is_dataclass(made(1))),
    "signature": lambda made: [
        (each.name, each.kind, each.annotation) for each in inspect.signature(made).parameters.values()
    ],
    "positions": lambda made: made.__match_args__,
    "copied": lambda made: (copy.copy(made(1)).x, copy.deepcopy(made(1, seen=[4])).seen),
    "not shared": lambda made: made(1).seen is made(1).seen,
    "on the class": lambda made: (made.kinds, made(1).twice, made.__doc__, made.__qualname__, made.__module__),
    "slots": lambda made: made.__slots__,
}  # fmt: skip


@pytest.mark.parametrize("few", [0, 1, methods.FEW, 1000])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_behaves_as_the_standard_librarys(
    options: dict[str, bool], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "FEW", few)
    ours, theirs = both(point, **options)
    assert {act: outcome(act, ours) for act in ACTS} == {act: outcome(act, theirs) for act in ACTS}


def test_a_frozen_instance_takes_no_other_attribute_either() -> None:
    with pytest.raises(
        dataclasses.FrozenInstanceError, match="'other'"
    ):  # Python 3.11 says TypeError of its own
        both(point, frozen=True)[0](1).other = 2


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_of_the_body_are_kept(options: dict[str, bool]) -> None:
    for made in both(own, **options):
        assert (repr(made(1)), made(1) == made(2)) == ("own", True)
    ours, theirs = both(own, **options)
    assert outcome("hashes", ours) == outcome("hashes", theirs)


def test_a_check_after_construction_runs() -> None:
    for made in both(checked, frozen=True):
        assert made(1).x == 1
        with pytest.raises(ValueError, match="negative"):
            made(-1)


def test_a_class_inherits_the_fields_of_another() -> None:
    def derived(dataclass: Any) -> Any:
        @dataclass(frozen=True, slots=True)
        class Base:
            x: int
            y: int = 2

        @dataclass(frozen=True, slots=True)
        class Derived(Base):
            z: int = field(repr=False, kw_only=True)

        return Derived

    ours, theirs = derived(slotted.dataclass), derived(dataclasses.dataclass)
    for act in ("fields", "positions", "slots", "signature"):
        assert outcome(act, ours) == outcome(act, theirs)
    for act in ("repr", "hash", "assigned", "equal"):
        assert outcome(act, partial(ours, z=3)) == outcome(act, partial(theirs, z=3))


@slotted.dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


def test_an_instance_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


def test_an_instance_that_holds_itself_is_printed() -> None:
    made = Pickled(1, held := [])  # type: ignore[arg-type]
    held.append(made)
    assert repr(made) == "Pickled(x=1, y=[...])"


def test_a_subclass_without_the_decorator_keeps_its_own_signature() -> None:
    class Other(Pickled):
        def __init__(self, a: int) -> None:
            super().__init__(a, (a,))

    assert list(inspect.signature(Other).parameters) == ["a"]
    assert Other(3).y == (3,)


def test_slots_have_to_be_asked_for() -> None:
    with pytest.raises(TypeError, match="slots=True"):
        slotted.dataclass(slots=False)


def test_classes_with_as_many_fields_share_what_is_compiled_and_keep_their_own_names_and_defaults(
    monkeypatch,
):
    monkeypatch.setattr(methods, "FEW", 0)

    @slotted.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2

    @slotted.dataclass(frozen=True, slots=True)
    class Pair:
        first: str
        second: str = "b"

    Point(1)
    compiled = methods._code.cache_info().misses
    assert Pair("a") == Pair(first="a", second="b") != Pair("a", "c")
    assert methods._code.cache_info().misses - compiled <= 1  # of what compares
    assert (Point(1).y, Pair.__init__.__code__.co_varnames) == (2, ("self", "first", "second"))
    with pytest.raises(TypeError, match="'first'"):
        Pair()


def test_a_field_without_a_default_after_one_with_a_default_is_refused():
    @slotted.dataclass(frozen=True, slots=True)
    class Wrong:
        x: int = 1
        y: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="follows one with a default"):
        Wrong(1, 2)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_method_is_compiled_after_a_few_calls_and_instances_are_equal_before_and_after(frozen):
    made = both(point, frozen=frozen)[0]
    compiled = methods._code.cache_info().misses
    first = made(1, seen=[1])
    texts = {repr(made(1, y=2.0)) for _ in range(methods.FEW - 1)}
    assert methods._code.cache_info().misses == compiled
    texts |= {repr(made(1, y=2.0)) for _ in range(3)}
    assert len(texts) == 1 and "x" in made.__init__.__code__.co_varnames
    assert all(first == made(1) for _ in range(2 * methods.FEW))
    if frozen:
        assert len({hash(first) for _ in range(2 * methods.FEW)}) == 1


def test_a_base_of_the_standard_librarys_is_known():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Base:
        x: int

    @slotted.dataclass(frozen=True, slots=True)
    class Derived(Base):
        y: int = 2

    assert Derived(1) == Derived(1, 2) and hash(Derived(1)) == hash(Derived(1, 2)) and Derived(3).x == 3


def test_what_the_standard_librarys_description_says_besides_is_told():
    @slotted.dataclass(slots=True)
    class Point:
        x: int
        told: int = field(default=3, metadata={"unit": "s"}, init=False)

    _, told = dataclasses.fields(Point)
    assert (told.name, told.default, dict(told.metadata), told.init) == ("told", 3, {"unit": "s"}, False)


def test_an_instance_is_replaced_as_by_the_standard_library():
    made = slotted.dataclass(frozen=True, slots=True)(point())
    one = made(1, 2.0, [3], name="p")
    for changes in ({}, {"x": 4}, {"name": "q", "seen": []}):
        ours, theirs = slotted.replace(one, **changes), dataclasses.replace(one, **changes)
        assert (ours, ours.seen, repr(ours)) == (theirs, theirs.seen, repr(theirs))
    with pytest.raises(TypeError, match="z"):
        slotted.replace(one, z=1)
    theirs = dataclasses.dataclass(frozen=True, slots=True)(point())
    assert slotted.replace(theirs(1), x=2) == theirs(2)


def test_a_field_is_described_as_by_the_standard_library():
    def described(field):
        @slotted.dataclass(slots=True)
        class Point:
            x: int
            y: list[int] = field(default_factory=list, repr=False, compare=False)
            z: int = field(default=3, kw_only=True, hash=False)

        return [
            (
                one.name,
                one.type,
                one.default,
                one.default_factory,
                one.repr,
                one.compare,
                one.hash,
                one.kw_only,
                one.init,
            )
            for one in dataclasses.fields(Point)
        ], repr(Point(1))

    assert described(slotted.field) == described(dataclasses.field)
