"""Enumerations that are defined quickly: what the standard library's members do, these do."""

import copy
import enum
import pickle

from scanviz.engine.enumerated import Enum
from scanviz.engine.program.plan.location import Where


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


class Standard(enum.Enum):
    LEFT = "left"
    RIGHT = "right"


Standard.__name__ = Standard.__qualname__ = "Side"


def test_members_are_told_apart_and_shown_as_those_of_the_standard_library():
    assert [repr(Side.LEFT), str(Side.RIGHT), Side.LEFT.name, Side.RIGHT.value] == [
        repr(Standard.LEFT),
        str(Standard.RIGHT),
        Standard.LEFT.name,
        Standard.RIGHT.value,
    ]
    assert len({Side.LEFT, Side.RIGHT, Side.LEFT}) == 2 and Side.LEFT != Side.RIGHT and Side.LEFT != "left"
    assert isinstance(Side.LEFT, Side) and not isinstance(Side.LEFT, Where)


def test_a_member_that_is_copied_or_pickled_is_the_member():
    for again in (
        copy.copy(Where.FRESH),
        copy.deepcopy(Where.FRESH),
        pickle.loads(pickle.dumps(Where.FRESH)),
    ):
        assert again is Where.FRESH
