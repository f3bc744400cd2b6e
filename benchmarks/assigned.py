"""How does the time of a loop grow whose steps assign to one element of a carry as long as there are steps, and of its gradient?

    python benchmarks/assigned.py [--quick] [--json FILE]

``exponent`` is the slope of a straight line through the logarithms of size and time: 1 is linear, 2 is a copy of the carry a step.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from common import write_json
from scaling import exponent, seconds

import scanviz
from scanviz import tensor as T

GOAL = 1.2
N, B0, S0 = T.lscalar("n"), T.vector("b0"), T.scalar("s0")
TIERS = ("numpy", "native")


def _set(t: Any, b: Any, s: Any) -> Any:
    return T.set_subtensor(b[t], s), s * 0.999 + 1


def _increment(t: Any, b: Any, s: Any) -> Any:
    return T.inc_subtensor(b[t], s), s * 0.999 + 1


def _recurrence(t: Any, b: Any, s: Any) -> Any:
    return T.set_subtensor(b[t], T.tanh(b[t - 1] * s)), s


def _moved(t: Any, b: Any, s: Any) -> Any:
    return T.set_subtensor(b[t : t + 4], b[t + 1 : t + 5]), s + b[t]


STEPS: dict[str, Callable[..., Any]] = {
    "set": _set,
    "increment": _increment,
    "recurrence": _recurrence,
    "moved part": _moved,
}


def _built(name: str, gradient: bool, tier: str) -> Any:
    results, _ = scanviz.scan(STEPS[name], T.arange(N - 5), [B0, S0])
    last = results[0][-1]
    wanted = scanviz.grad(T.sum(last * last), [B0, S0]) if gradient else last
    return scanviz.function([N, B0, S0], wanted, mode=tier)


def _plainly(name: str, count: int) -> Any:
    """Return the last carry of a plain Python loop."""
    b, s = np.zeros(count), 1.0
    for t in range(count - 5):
        if name == "recurrence":
            b[t] = np.tanh(b[t - 1] * s)
        elif name == "moved part":
            s += b[t]
            b[t : t + 4] = b[t + 1 : t + 5].copy()
        else:
            b[t] = s if name == "set" else b[t] + s
            s = s * 0.999 + 1
    return b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    sizes = [200, 400] if options.quick else [20_000, 40_000, 80_000]
    rows: list[dict[str, object]] = []
    print(f"{'step':<14}{'':<10}{'tier':<8}{''.join(f'{size:>12}' for size in sizes)}{'exponent':>10}")
    for name in STEPS:
        for gradient in (False, True):
            if gradient and name == "moved part":
                continue  # for value-dependent lengths the gradient keeps all rows
            for tier in TIERS:
                f, times = _built(name, gradient, tier), []
                for size in sizes:
                    given = (size, np.zeros(size), 1.0)
                    found = f(*given)
                    if not gradient:
                        np.testing.assert_allclose(found, _plainly(name, size), rtol=1e-10)
                    times.append(min(seconds(lambda f=f, given=given: f(*given)) for _ in range(3)))
                what = "gradient" if gradient else ""
                slope = exponent(sizes, [max(each, 1e-6) for each in times])
                print(
                    f"{name:<14}{what:<10}{tier:<8}{''.join(f'{1e3 * each:>9.2f} ms' for each in times)}{slope:>10.2f}"
                )
                rows.append(
                    {"step": name, "gradient": gradient, "tier": tier, "exponent": slope, "goal": GOAL}
                    | {f"seconds_{size}": each for size, each in zip(sizes, times, strict=True)}
                )
    write_json(options.json, rows, "assigned")


if __name__ == "__main__":
    main()
