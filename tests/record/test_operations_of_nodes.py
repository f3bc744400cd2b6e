"""Which operations nodes of a recorded graph became, where a gradient makes its forward loops again."""

from collections import Counter

import pytest

from scanviz.engine.mode import Mode
from scanviz.render.diagram.build import diagram_of
from tests.laws.names import NamedFunction, NamedLoop, recorded


@pytest.mark.parametrize("rewrites", ["all", "all,-ScanMerge", "none"])
def test_every_loop_that_ran_is_a_box_of_the_picture(rewrites):
    innermost = NamedLoop(None, 4, None)
    loop = NamedLoop(None, 2, NamedLoop(None, 2, innermost))
    case = NamedFunction(name=None, loops=[loop], calls=1, differentiated=1)
    record = recorded([case.build(Mode("numpy", rewrites))], [case])
    (function,) = record.functions
    boxes = diagram_of(function.graph, record=record, function=function.key).clusters
    assert Counter(box.loop for box in boxes) == Counter(each.key for each in record.loops)
    assert {box.loop: box.time_ns for box in boxes} == {each.key: each.total_ns for each in record.loops}
