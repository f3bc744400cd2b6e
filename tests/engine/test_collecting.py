"""Garbage is collected seldom while graphs are built, and as before afterwards."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine import collecting
from scanviz.starting import modules_stay

OWN = (701, 11, 12)


@pytest.fixture(autouse=True)
def own_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*OWN)
    yield
    gc.set_threshold(*before)


def test_garbage_is_collected_seldom_while_a_step_is_built_and_as_before_after_an_error() -> None:
    met = []

    def step(x_t: object) -> None:
        met.append(gc.get_threshold())
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        scanviz.scan(step, T.vector("x"))
    assert (met, gc.get_threshold()) == ([(collecting.SELDOM, *OWN[1:])], OWN)


def test_blocks_that_end_in_any_order_leave_the_threshold_that_was() -> None:
    collecting.begin()
    collecting.begin()
    collecting.end()
    assert gc.get_threshold()[0] == collecting.SELDOM
    collecting.end()
    assert gc.get_threshold() == OWN


@pytest.mark.parametrize("imports", [collecting.MANY + 1, 0])
def test_modules_that_were_imported_meanwhile_are_not_looked_through(
    monkeypatch: pytest.MonkeyPatch, imports: int
) -> None:
    looked: list[str] = []
    # what these tests themselves have frozen stays so
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    with collecting.seldom():
        # more than enough: what other threads and the tests themselves let go meanwhile counts against it
        made = [[number] for number in range(3 * OWN[0])]
        for number in range(imports):
            monkeypatch.setitem(sys.modules, f"a module of mine {number}", sys)
        gc.callbacks.append(lambda phase, about: looked.append(phase))
    made += [[number] for number in range(10)]
    gc.callbacks.pop()
    assert (not looked) == bool(imports) and made


def test_what_a_program_has_frozen_stays_frozen() -> None:
    frozen = gc.get_freeze_count()  # by the configuration of these tests
    modules_stay()
    assert gc.get_freeze_count() >= frozen - 1000 > 0


@pytest.mark.parametrize("mine", [0, 10 * collecting.SELDOM])
def test_a_program_that_collects_never_or_less_often_is_left_alone(mine: int) -> None:
    gc.set_threshold(mine, *OWN[1:])
    with collecting.seldom():
        assert gc.get_threshold()[0] == mine
    assert gc.get_threshold()[0] == mine


def test_a_threshold_that_is_set_inside_stays() -> None:
    with collecting.seldom():
        gc.set_threshold(5, *OWN[1:])
    assert gc.get_threshold()[0] == 5


def test_what_was_built_and_let_go_long_ago_goes_too() -> None:
    """A program that builds functions in turn makes too few objects between them for Python to look far back by itself."""

    class Built:
        def __init__(self) -> None:
            self.itself = self
            self.parts = [[number] for number in range(OWN[0])]

    alive: weakref.WeakSet[Built] = weakref.WeakSet()
    held = None
    for _ in range(4 * OWN[1]):
        with collecting.seldom():
            held = Built()
            alive.add(held)
    assert held in alive and len(alive) < 2 * OWN[1]
