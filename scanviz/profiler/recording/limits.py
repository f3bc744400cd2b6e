"""Limits of the machine, measured with NumPy after the run: the lines of a roofline.

Bandwidth is that of copies of arrays of three sizes, so that an operation is compared with memory of the kind that its arrays fit
into.  Arithmetic is that of a product of matrices, which has a limit far above all others, and of an addition whose arrays stay in
a near cache.  Of each the best of several attempts counts, because other programs only make one slower.  Source of the idea:
Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", Communications of the ACM 52(4), 2009.

Limits: float64 and float32 alone; as many threads as NumPy's library of linear algebra takes; reads alone may be faster than
copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

EACH_NS = 60_000_000  # for one limit
BATCH_NS = 200_000  # an attempt is repeated to about so long
LARGE, MEDIUM, SMALL = 64 * 2**20, 2**20, 2**17  # bytes moved by a copy, half of them read
PRODUCTS, ADDED = (96, 384), 8192  # sizes of the matrices; elements of the vectors


def measured_limits(each_ns: int = EACH_NS) -> dict[str, float]:
    """Return the machine's limits as declared numbers of a run; takes about half a second.

    Parameters
    ----------
    each_ns : int
        Measuring time of each limit.
    """
    none = np.zeros(1)
    work = {
        "large_copy_bytes_per_s": (LARGE, _copying(LARGE)),
        "medium_copy_bytes_per_s": (MEDIUM, _copying(MEDIUM)),
        "small_copy_bytes_per_s": (SMALL, _copying(SMALL)),
        "element_flops_per_s": (ADDED, _adding("float64")),
        "element_flops_per_s_float32": (ADDED, _adding("float32")),
    }
    return {name: done / best_ns(action, each_ns) * 1e9 for name, (done, action) in work.items()} | {
        "product_flops_per_s": _products("float64", each_ns),
        "product_flops_per_s_float32": _products("float32", each_ns),
        "numpy_call_ns": best_ns(lambda: np.add(none, none, out=none), each_ns),
    }


def _copying(size: int) -> Callable[[], object]:
    source, target = np.ones(size // 16), np.ones(size // 16)
    return lambda: np.copyto(target, source)


def _products(dtype: str, each_ns: int) -> float:
    """Measure operations per second of a matrix product: the better of a size for one thread and a size for several.

    Threads of one product wait for one another, so on a busy machine many of them are slower than one.
    """
    found = 0.0
    for size in PRODUCTS:
        first, out = np.ones((size, size), dtype), np.ones((size, size), dtype)
        took = best_ns(partial(np.dot, first, first, out=out), each_ns // len(PRODUCTS))
        found = max(found, 2.0 * size**3 / took * 1e9)
    return found


def _adding(dtype: str) -> Callable[[], object]:
    first, second, out = (np.ones(ADDED, dtype) for _ in range(3))
    return lambda: np.add(first, second, out=out)


def best_ns(action: Callable[[], Any], for_ns: int, clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """Return the shortest time of an action over repeated attempts: at least two, after a warm-up.

    Examples
    --------
    >>> times = iter([0, 500_000, 500_000, 800_000, 800_000, 1_000_000])
    >>> best_ns(lambda: None, 1_000_000, lambda: next(times))
    200000.0
    """
    begun = clock()
    action()
    took = max(1, clock() - begun)
    repeats, found, attempts = max(1, BATCH_NS // took), float("inf"), 0
    while True:
        before = clock()
        for _ in range(repeats):
            action()
        after = clock()
        found, attempts = min(found, max(1, after - before) / repeats), attempts + 1
        if attempts >= 2 and after - begun >= for_ns:
            return found
