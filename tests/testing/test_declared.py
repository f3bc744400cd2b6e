"""Every declared operation can be drawn by laws, or there is a reason."""

from pathlib import Path
from random import Random

import pytest

import scanviz
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.traversal import toposort
from tests.support.declared import ROWS, WITHOUT, UnfitError
from tests.support.fresh_operands import FreshOperands
from tests.support.graphs import grown

FAMILIES = {each.stem for each in Path(scanviz.__file__).parent.glob("engine/ops/*.py")} | {"loop"}
DECLARED = [each for each in declarations() if each.family in FAMILIES]


def test_every_declared_operation_has_a_row_or_a_reason():
    assert {each.name for each in DECLARED} - {row.name for row in ROWS} == set(WITHOUT)


@pytest.mark.parametrize("declaration", list(ROWS), ids=lambda each: each.name)
def test_a_row_makes_its_operation(declaration):
    for seed in range(200):
        try:
            made = ROWS[declaration](FreshOperands(Random(seed)))
        except (ScanvizError, UnfitError):
            continue
        if any(node.op.declaration is declaration for node in toposort([made])):
            return
    raise AssertionError(f"no operands made {declaration.name}")


def test_a_smaller_count_gives_a_beginning_of_the_same_graph():
    first, whole = grown(5, 4), grown(5, 12)
    assert [str(each.type) for each in first.inputs] == [str(each.type) for each in whole.inputs]
    assert first.declarations() <= whole.declarations()
