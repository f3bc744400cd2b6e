"""Formulas of operations: they evaluate like the operations and contain no value read elsewhere."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.formulas import LONGEST, operation_label, with_formulas
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.testing import random_loops
from tests.render.diagram.graphs import with_gradients

SIGNS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "matmul": np.matmul,
}
LEAVES = {"a": np.array([[1.0, 2.0], [3.0, 5.0]]), "b": np.array([[2.0, -1.0], [7.0, 3.0]])}
CALLS = {  # functions of one operand: constants, operation, NumPy meaning; constants of several numbers have blanks in them
    "tanh": ((None,), "tanh", np.tanh),
    "minus": (("1", None), "subtract", lambda value: 1 - value),
    "square": ((None, "2"), "power", lambda value: value**2),
    "lower": ((None, "-2.0"), "add", lambda value: value + -2),
    "scaled": ((None, "[2, 3]"), "multiply", lambda value: value * [2, 3]),
    "less": (("[2, 3]", None), "subtract", lambda value: [2, 3] - value),
}
TREES = st.recursive(
    st.sampled_from(["a", "b"]),
    lambda trees: st.tuples(st.sampled_from([*SIGNS, *CALLS]), trees, trees),
    max_leaves=7,
)


def drawn(tree, nodes, edges):
    """Draw an expression, and return the id of what gives it and its value."""
    if isinstance(tree, str):
        return tree, LEAVES[tree]
    op, *operands = tree
    name = f"n{len(nodes)}"
    if op in SIGNS:
        given = [drawn(operand, nodes, edges) for operand in operands]
        value, constants = SIGNS[op](*(value for _, value in given)), (None, None)
    else:
        given = [drawn(operands[0], nodes, edges)]
        constants, op, computed = CALLS[op]
        value = computed(given[0][1])
    name = f"n{len(nodes)}"
    nodes.append(Node(name, "operation", operation_label(op, constants, ["a"]), op=op, constants=constants))
    edges += [Edge(source, name, place=k) for k, (source, _) in enumerate(given)]
    return name, value


@given(tree=TREES.filter(lambda tree: not isinstance(tree, str)))
def test_a_formula_evaluates_like_its_operations(tree):
    nodes, edges = [Node("a", "inner_input", "a"), Node("b", "inner_input", "b")], []
    with np.errstate(all="ignore"):
        _, value = drawn(tree, nodes, edges)
        [formula] = with_formulas(Diagram("f", tuple(nodes), (), tuple(edges)), 10_000).nodes[2:]
        text = formula.label if len(nodes) > 3 or formula.operations else None
        if text is not None:
            found = eval(
                re.sub(r"(?<!\w)(\[[^]]*\])", r"np.array(\1)", text), {"tanh": np.tanh, "np": np, **LEAVES}
            )
            assert np.allclose(found, value, rtol=1e-6, equal_nan=True), text
    assert with_formulas(Diagram("f", tuple(nodes), (), tuple(edges))).nodes


@given(case=random_loops())
def test_every_operation_is_drawn_once_and_formulas_are_short(case):
    wanted, _ = with_gradients(case)
    picture = diagram_of(snapshot(wanted))
    small = with_formulas(picture)
    count = [
        sum(node.operations or 1 for node in one.nodes if node.kind == "operation")
        for one in (picture, small)
    ]
    assert count[0] == count[1]
    for node in small.nodes:
        if node.operations is not None and node.kind == "operation":
            assert len(node.note or node.label) <= LONGEST
        assert "·" not in node.label + node.note, "an operand has a name, an operation or a place"
    ends = {node.id for node in small.nodes} | {port.id for node in small.nodes for port in node.ports}
    assert all(edge.source in ends and edge.target in ends for edge in small.edges)
    gives = {node.id for node in picture.nodes if node.kind in ("output", "inner_output", "port", "until")}
    assert gives <= {node.id for node in small.nodes}
