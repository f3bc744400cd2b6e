"""Costs of a loop on a GPU, counted: launches, memory, copies each way and waits.

The counts come from the device of ``tools/real_cupy``.  A loop may take less than its row of the table, never more: in each step,
where its operations are calls of CuPy one by one, and in a whole call, where its steps are one kernel.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.cupy import fused_loop
from scanviz.engine.backends.cupy.kernel_support import NotFusedError

pytestmark = pytest.mark.gpu
FEW, MANY = 20, 120  # steps
WIDTH = 8


class Counts(NamedTuple):
    """Counts of one step or one call; fields as ``host_cupy.Counts`` has them."""

    launches: float
    allocations: float = 0
    to_device: float = 0
    to_host: float = 0
    waits: float = 0


class CountedLoop(NamedTuple):
    """A loop, by how its function is built and called for a number of steps, and the most that it may take.

    ``step`` is for each step of single calls, ``call`` for a call whose steps are one kernel; None if they never are.
    """

    build: Callable[[], Callable[..., Any]]
    arguments: Callable[[Any, int], tuple[Any, ...]]
    step: Counts
    call: Counts | None = Counts(1)


X, W, H, S = T.matrix("x"), T.matrix("w"), T.vector("h"), T.dscalar("s")
N, PLACES = T.lscalar("n"), T.lvector("i")


def scanned(step, *inputs, **options):
    """Return the building of a function of one loop's rows."""

    def build():
        rows, updates = scanviz.scan(step, **options)
        return scanviz.function(inputs, rows, updates=updates, mode="cupy")

    return build


def gradient():
    rows = scanviz.scan(lambda r, h, w: T.tanh(r + T.dot(h, w)), X, H, W)[0]
    return scanviz.function([X, H, W], scanviz.grad(T.sum(rows[-1]), [W]), mode="cupy")


def drawing():
    stream = T.random.RandomStreams(1)
    return scanned(lambda h: h + stream.normal(size=WIDTH), H, N, outputs_info=H, n_steps=N)()


def rows(xp, steps):
    return xp.asarray(np.full((steps, WIDTH), 0.1)), xp.asarray(np.ones(WIDTH))


def rows_and_matrix(xp, steps):
    return *rows(xp, steps), xp.asarray(np.eye(WIDTH) / 2)


def vector_and_steps(xp, steps):
    return xp.asarray(np.ones(WIDTH)), np.int64(steps)


LOOPS = {
    "tanh(x + a h)": CountedLoop(
        scanned(lambda r, h: T.tanh(r + 0.9 * h), X, H, sequences=X, outputs_info=H), rows, Counts(3)
    ),
    "tanh(x + h W)": CountedLoop(
        scanned(
            lambda r, h, w: T.tanh(r + T.dot(h, w)), X, H, W, sequences=X, outputs_info=H, non_sequences=W
        ),
        rows_and_matrix,
        Counts(2),
    ),
    "gradient of tanh(x + h W)": CountedLoop(gradient, rows_and_matrix, Counts(4), Counts(7)),
    "sigmoid(x + h)": CountedLoop(
        scanned(lambda r, h: T.sigmoid(r + h), X, H, sequences=X, outputs_info=H), rows, Counts(2)
    ),
    "softmax(x + h)": CountedLoop(
        scanned(lambda r, h: T.softmax(r + h), X, H, sequences=X, outputs_info=H), rows, Counts(9)
    ),
    "h % 3 + h // x": CountedLoop(
        scanned(lambda r, h: h % 3.0 + h // r, X, H, sequences=X, outputs_info=H), rows, Counts(3)
    ),
    "h + a sum of all": CountedLoop(
        scanned(lambda r, h: r + 0.1 * T.sum(h), X, H, sequences=X, outputs_info=H), rows, Counts(3)
    ),
    "two taps": CountedLoop(
        scanned(
            lambda a, b: 0.5 * a + 0.25 * b, X, N, outputs_info=dict(initial=X, taps=[-2, -1]), n_steps=N
        ),
        lambda xp, steps: (xp.asarray(np.ones((2, WIDTH))), np.int64(steps)),
        Counts(3),
    ),
    "the last row alone": CountedLoop(
        lambda: scanviz.function(
            [H, N], scanviz.scan(lambda h: 0.5 * h, outputs_info=H, n_steps=N)[0][-1], mode="cupy"
        ),
        vector_and_steps,
        Counts(1),
    ),
    "until a sum is small": CountedLoop(
        scanned(lambda h: (h * 0.999, scanviz.until(h.sum() < -1)), H, N, outputs_info=H, n_steps=N),
        vector_and_steps,
        Counts(3, to_host=1, waits=1),
        Counts(1, to_host=1, waits=1),
    ),
    "h[i] + 1": CountedLoop(
        scanned(lambda h, i: h[i] + 1, H, N, PLACES, outputs_info=H, non_sequences=PLACES, n_steps=N),
        lambda xp, steps: (*vector_and_steps(xp, steps), xp.arange(WIDTH)),
        Counts(2),
        None,
    ),
    "a number of the device": CountedLoop(
        scanned(lambda s: 3.7 * s * (1 - s), S, N, outputs_info=S, n_steps=N),
        lambda xp, steps: (xp.asarray(np.float64(0.3)), np.int64(steps)),
        Counts(3),
    ),
    "a number of the host": CountedLoop(
        scanned(lambda s: 3.7 * s * (1 - s), S, N, outputs_info=S, n_steps=N),
        lambda xp, steps: (np.float64(0.3), np.int64(steps)),
        Counts(3),
        Counts(2, to_host=1, waits=1),  # numbers of the host in, and out
    ),
    "draws": CountedLoop(drawing, vector_and_steps, Counts(1, to_device=1)),
}


def counted(loop):
    """Return the counts of a step, and those of a call beside its steps."""
    host = pytest.importorskip("host_cupy", reason="counts come from the environment of tools/real_cupy")
    cupy = pytest.importorskip("cupy")
    few, many = (_of_a_call(host, loop.build(), loop.arguments(cupy, steps)) for steps in (FEW, MANY))
    step = Counts(*((b - a) / (MANY - FEW) for a, b in zip(few, many, strict=True)))
    return step, Counts(*(a - FEW * b for a, b in zip(few, step, strict=True)))


def _of_a_call(host, function, arguments):
    function(*arguments)  # the first call compiles kernels
    before = host.counts()
    function(*arguments)
    return [after - first for after, first in zip(host.counts(), before, strict=True)]


def check(name, found, most):
    """Print counts, and compare them with a row of the table."""
    print(f"\n{name:28}", ", ".join(f"{n:g} {field}" for field, n in found._asdict().items() if n), end=" ")
    assert all(count <= limit for count, limit in zip(found, most, strict=True)), (found, most)


@pytest.mark.parametrize("name", LOOPS)
def test_a_step_of_single_calls_costs_at_most_its_row_of_the_table(name, monkeypatch):
    def refuse(*arguments):
        raise NotFusedError("counted by single calls")

    monkeypatch.setattr(fused_loop, "FusedCode", refuse)
    check(name, counted(LOOPS[name])[0], LOOPS[name].step)


@pytest.mark.parametrize("name", [name for name, loop in LOOPS.items() if loop.call is not None])
def test_a_call_of_one_kernel_costs_at_most_its_row_of_the_table(name):
    step, call = counted(LOOPS[name])
    assert not any(step), step
    check(name, call, LOOPS[name].call)
