"""Errors about sizes use plain grammar: one row, two rows, one dimension; and give a fix."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T

v = T.vector("v")


def two_taps(initial):
    h, _ = scanviz.scan(
        lambda h2, h1: h1 + h2, outputs_info={"initial": v, "taps": [-2, -1]}, n_steps=3, name="fib"
    )
    return scanviz.function([v], h)(initial)


def short():
    h, _ = scanviz.scan(lambda a: a, v, n_steps=10)
    return scanviz.function([v], h)(np.ones(1))


def mitsot_loop(taps):
    return scanviz.scan(lambda a, b: a + b, outputs_info={"initial": v, "taps": taps}, n_steps=3)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (
            lambda: two_taps(np.ones(1)),
            ["expected: 2 rows", "found:    1 row\n", "write:    initial rows for"],
        ),
        (short, ["found:    1 row\n"]),
        (lambda: mitsot_loop([1, -1]), ["taps=[1, -1]", "write:    taps=[-1]"]),
        (lambda: mitsot_loop([0]), ["write:    taps=[-1] for the step before"]),
        (lambda: scanviz.function([v], v)(np.ones((2, 2))), ["expected: 1 dimension\n"]),
        (
            lambda: scanviz.function([T.matrix("m")], T.ones(2), on_unused_input="ignore")(1.0),
            ["expected: 2 dimensions\n"],
        ),
        (
            lambda: scanviz.shared(np.ones(2), "w").set_value(np.ones((2, 2))),
            ["`w` cannot hold this value", "expected: 1 dimension\n"],
        ),
        (
            lambda: scanviz.shared(np.ones(3), "w", strict=True).set_value(np.ones(2)),
            ["expected: shape (3)", "found:    shape (2,)"],
        ),
    ],
)
def test_errors_name_sizes_in_plain_words(wrong, expected):
    with pytest.raises(scanviz.ScanvizError) as error:
        wrong()
    for part in expected:
        assert part in f"{error.value}\n"
