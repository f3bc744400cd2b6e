"""The chain of blame leads from a NaN to its origin: through gradients, nested loops and moved work."""

from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.profiler.report.values import render_values
from scanviz.profiler.values.checking import Checker
from scanviz.record.traces.blame import chain_of_blame

V, X, W = T.vector("v"), T.matrix("x"), T.matrix("w")


def planted(row: int, value: float, count: int = 60) -> Any:
    data = np.zeros(count)
    data[row] = value
    return data


def chain(f: Any, *values: Any, loop: str) -> list[str]:
    """Return the words of the chain that begins at a loop, each with its line's text."""
    record = scanviz.trace(f, *values).record
    key = next(each.key for each in record.loops if each.name == loop)
    links = chain_of_blame(record, key)
    text = " ".join(render_values(record, scan_name=loop, width=200).split())
    assert all(link.words in text for link in links[1:])
    return [f"{link.words} | {link.source.text if link.source else ''}" for link in links]


def rnn() -> Any:
    h, _ = scanviz.scan(
        lambda x_t, h, w: T.tanh(h) + T.log(T.dot(h, w) + x_t + 2.0), X, T.zeros(3), W, name="rnn"
    )
    return h


def planted_matrix() -> Any:
    data = np.zeros((90, 3))
    data[71, 1] = -40.0
    return data


def test_a_bad_value_of_a_step_is_traced_to_the_row_of_the_input() -> None:
    made, row = chain(
        scanviz.function([X, W], rnn()[-1], mode="numpy"), planted_matrix(), 0.1 * np.eye(3), loop="rnn"
    )
    assert made.startswith("step 71 of rnn made it: log(dot(h[t-1], w) + x[t] + 2) with") and "T.log" in made
    assert row.startswith("computed from your input x[71, 1] = -40")


def test_a_gradient_is_traced_to_the_step_of_the_forward_loop() -> None:
    h = rnn()
    f = scanviz.function([X, W], [h[-1], scanviz.grad(T.sum(h[-1]), W)], mode="numpy")
    links = chain(f, planted_matrix(), 0.1 * np.eye(3), loop="grad_of_rnn")
    assert links[0].startswith("step 0 of grad_of_rnn (back over step 89 of rnn) read it from")
    assert any(link.startswith("step 71 of rnn made it: log(") for link in links)
    assert links[-1].startswith("computed from your input x[71, 1]")


@pytest.mark.parametrize("backwards", [False, True])
def test_work_that_was_moved_out_of_a_loop_is_traced_to_the_row(backwards: bool) -> None:
    h, _ = scanviz.scan(
        lambda x_t, h: T.tanh(h) + T.log(x_t + 2.0), V, 0.0, name="moved", go_backwards=backwards
    )
    given, moved, row = chain(scanviz.function([V], h, mode="numpy"), planted(17, -5.0), loop="moved")
    assert given.startswith(f"step {59 - 17 if backwards else 17} of moved read it from log(")
    assert "was computed before the loop, for all its steps" in moved and "T.log" in moved
    assert row.startswith("computed from your input v[17] = -5")


def two_loops() -> Any:
    first, _ = scanviz.scan(lambda x_t, s: T.sqrt(s) + x_t, V, 1.0, name="first")
    second, _ = scanviz.scan(lambda a_t, s: 0.5 * s + T.tanh(a_t), first, 0.0, name="second")
    return scanviz.function([V], second[-1], mode="numpy")


def test_a_loop_that_reads_another_is_traced_into_it_and_to_the_step_that_wrote_the_state() -> None:
    links = chain(two_loops(), planted(17, -5.0), loop="second")
    assert [link.split(" was ")[0].split(" read ")[0].split(" made ")[0].split(" wrote ")[0] for link in links] == [
        "step 18 of second", "tanh(s)", "step 18 of first", "step 17 of first", "computed from your input v[17] = -5 | ",
    ]  # fmt: skip


def test_a_nan_in_the_input_is_distinguished_from_a_computed_one() -> None:
    links = chain(two_loops(), planted(17, np.nan), loop="second")
    assert links[-2].startswith("step 17 of first read it from v[t]")
    assert links[-1].startswith("it came from your input v[17] = nan")


def nested() -> Any:
    def step(x_t: Any, s: Any) -> Any:
        inner, _ = scanviz.scan(
            lambda g, x: T.sqrt(g) + x, outputs_info=s, non_sequences=x_t, n_steps=3, name="inner"
        )
        return inner[-1]

    outer, _ = scanviz.scan(step, V, 1.0, name="outer")
    return scanviz.function([V], outer, mode="numpy")


def test_a_loop_inside_a_step_is_looked_into() -> None:
    links = chain(nested(), planted(17, -5.0), loop="outer")
    assert links[0].startswith("step 17 of outer got it from the loop in its step")
    assert links[1].startswith("step 1 of inner made it: sqrt(g[t-1]) with g[t-1] = -4")


@pytest.mark.parametrize(
    ("f", "values", "rows"),
    [
        (
            lambda: scanviz.function([X, W], rnn()[-1], mode="numpy"),
            (planted_matrix(), 0.1 * np.eye(3)),
            ("x[71, 1]",),
        ),
        (nested, (planted(17, -5.0),), ("v[17]",)),
        (
            lambda: scanviz.function(
                [V],
                scanviz.scan(lambda x_t, h: h + T.log(x_t + 2.0), V, 0.0, name="moved", go_backwards=True)[0],
                mode="numpy",
            ),
            (planted(17, -5.0),),
            ("v[17]",),
        ),
    ],
)
def test_a_check_names_the_rows_of_the_inputs(f: Any, values: Any, rows: tuple[str, ...]) -> None:
    built = f()
    with observe.observed_by(Checker(stops=False)) as checker:
        built(*values)
    assert isinstance(checker, Checker) and checker.finding is not None
    assert checker.finding.rows == rows
