"""Operators look their meaning up; what NumPy or Python would do wrongly is refused with what to write."""

import pytest

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.syntax import MEANINGS, meaning


def test_a_meaning_can_be_added_under_several_names(monkeypatch):
    monkeypatch.setattr("scanviz.engine.graph.syntax.MEANINGS", MEANINGS)
    try:
        meaning("method:doubled", "attribute:twice")(lambda x: x + x)
        x = T.vector("x")
        assert str(x.doubled().owner.op) == str(x.twice.owner.op) == "add"
        assert {"doubled", "twice"} <= set(dir(x))
    finally:
        del MEANINGS["method:doubled"], MEANINGS["attribute:twice"]


def test_names_are_offered_for_completion():
    assert {"sum", "T", "shape", "reshape", "eval", "name"} <= set(dir(T.vector("x")))


def test_a_missing_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="`nonsense`"):
        _ = T.vector("x").nonsense
    assert not hasattr(T.vector("x"), "__array_interface__")


@pytest.mark.parametrize("convert", [int, float, bool, len, range, lambda x: [1, 2][x]])
def test_syntax_that_needs_a_value_is_refused(convert):
    with pytest.raises(ScanvizTypeError):
        convert(T.lscalar("n"))
