"""Which operations have a meaning over a new leading axis; that it is the same as on each row: the laws of batches."""

from pathlib import Path

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.rewrites.batching import BATCHING, batched
from tests.support.internals import missing_rows

# Operations without a batched form, with the reason.
HOLES = {
    "arange", "eye", "triangle", "diagonal", "from_diagonal",  # made of sizes, or of little use by rows
    "dimension", "broadcast_size", "specify_shape", "first_rows",  # about the array, not its elements
    "assign", "repeat", "tensordot", "slogdet", "state_history", "last_row",  # rare in steps
    "bincount",  # as long as its largest number
    "eigh", "qr", "svd", "lstsq",  # of several results: see results.py
    "lu_factor", "lu_solve", "cholesky_solve",  # made by a rewrite inside a step
    "ifelse", "scan", "subgraph",  # other rules
    "print", "assert",  # done at every step
    "state_words", "words_state",  # random states
    "disconnected_grad", "zero_grad", "grad_clip", "stop_gradient", "consider_constant",  # gone before
}  # fmt: skip


FAMILIES = {each.stem for each in Path(scanviz.__file__).parent.glob("engine/ops/*.py")} | {"loop"}


def test_each_operation_has_a_row_or_a_reason():
    of_tests = {declaration.name for declaration in declarations() if declaration.family not in FAMILIES}
    holes = set(missing_rows(BATCHING)) - of_tests
    draws = {hole for hole in holes if hole.startswith("draw_")}
    assert holes - draws <= HOLES, "write a row in engine/rewrites/batching, or a reason here"


def test_every_elementwise_operation_of_one_input_is_itself():
    for declaration in declarations():
        if (
            declaration.family == "elementwise"
            and getattr(declaration, "arity", 0) == 1
            and declaration.name != "cast"
        ):
            inputs = [Variable(TensorType("float64", (None,)), "x")]
            try:
                node = declaration(*inputs).owner
            except scanviz.ScanvizError:
                continue  # whole numbers only
            rows = Variable(TensorType("float64", (None, None)), "rows")
            found = batched(node, [rows], [True])
            assert found.owner.op == node.op and found.type.dtype == node.outputs[0].type.dtype


def test_operations_without_a_batched_form_are_not_batched():
    x, mask = T.vector("x"), T.vector("m", dtype="bool")
    rows = Variable(TensorType("float64", (None, None)))
    assert batched(x[mask].owner, [rows, mask], [True, False]) is None
    flat = T.sort(T.matrix("y"), axis=None).owner
    assert batched(flat, [Variable(TensorType("float64", (None,) * 3))], [True]) is None
