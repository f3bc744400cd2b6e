"""A merged profile in the terminal application: the tree and a function's summary name the origin."""

from __future__ import annotations

from scanviz.record.storage.merging import merged
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.tui.tree import RunTree
from scanviz.tui.views.profile import function_summary
from tests.profiler.records import SMALL


def test_the_tree_and_the_summary_of_a_function_name_its_origin() -> None:
    whole = merged([("first", SMALL), ("second", SMALL)])
    times = OperationTimes(parts_of(whole))
    for function in whole.functions:
        assert f"from {function.origin}" in function_summary(function).plain
        assert f"{function.name}  {function.origin}" in RunTree()._function_label(function, times).plain
    (alone,) = SMALL.functions
    assert "from" not in function_summary(alone).plain
