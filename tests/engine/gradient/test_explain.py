"""Where the way from a variable to a cost breaks inside a loop, the message names the operation and its line."""

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError

w, x = T.scalar("w"), T.vector("x")
LINE = r"\(.*test_explain.py:\d+\)"


def jumped(x_t, total):
    jump = T.cast(w, "int64")
    return total + x_t * T.cast(jump, "float64")


def nested():
    outer, _ = scanviz.scan(lambda so_far: so_far + last(jumped), outputs_info=0.0, n_steps=2, name="outer")
    return outer[-1]


def last(step):
    sums, _ = scanviz.scan(step, x, 0.0, name="sums")
    return sums[-1]


def stepwise():
    (counts, _), _ = scanviz.scan(
        lambda a, b: (a + T.cast(b > 0, "float64"), b * w), outputs_info=[0.0, 1.0], n_steps=4, name="sums"
    )
    return counts[-1]


def stopped():
    doubled, _ = scanviz.scan(
        lambda h: (h * 2, scanviz.until(h > w)), outputs_info=1.0, n_steps=9, name="sums"
    )
    return doubled[-1]


def of_a_subgraph():
    return scanviz.named_subgraph(w, T.cast(w > 0, "float64"), "gate")(w)


def checkpointed():
    rows, _ = scanviz.scan_checkpoints(jumped, x, 0.0, name="sums")
    return rows[-1]


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: last(jumped), rf"in loop `sums`, `jump` {LINE} casts to int64"),
        (lambda: scanviz.reduce(jumped, x, 0.0, name="sums")[0], rf"in loop `sums`, `jump` {LINE} casts to"),
        (checkpointed, rf"in loop `sums_outer`, in loop `sums_inner`, `jump` {LINE} casts to int64"),
        (lambda: last(lambda v, s: s + T.switch(v < w, v, 0.0)), rf"`sums`, `x\[t\] < w` {LINE} compares"),
        (
            lambda: last(lambda v, s: s + scanviz.disconnected_grad(w) * v),
            rf"in loop `sums`, disconnected_grad {LINE} lets no derivative pass",
        ),
        (nested, rf"in loop `outer`, in loop `sums`, `jump` {LINE} casts to int64"),
        (stepwise, rf"in loop `sums`, `b\[t-1\] > 0` {LINE} compares"),
        (stopped, "only the condition that ends loop `sums` is computed from `w`"),
        (of_a_subgraph, rf"in `gate`, `w > 0` {LINE} compares"),
    ],
)
def test_the_message_names_the_operation_inside_a_loop(build, why):
    with pytest.raises(DisconnectedInputError, match=why):
        scanviz.grad(build(), w)


@pytest.mark.parametrize("of", [scanviz.jacobian, lambda f, v: scanviz.Lop(f, v, x), scanviz.Rop])
def test_messages_of_sequences_and_other_derivatives_name_the_operation(of):
    counts, _ = scanviz.map(lambda v: T.cast(T.floor(v), "int64") * 1.0, x, name="sums")
    with pytest.raises(DisconnectedInputError, match=rf"in loop `sums`, `int64\(floor.*` {LINE} casts to"):
        of(counts, x, *([x] if of is scanviz.Rop else []))
