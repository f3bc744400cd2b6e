"""Taylor coefficients of a random loop along a direction, by a plain NumPy loop over complex numbers.

``f(x + z v)`` is analytic in z, so the mean of ``f(x + r e^{iθ} v) e^{-ikθ}`` over angles around a circle is the k-th coefficient
times r^k, to nearly all digits: no subtraction, no step to choose.  Nothing is shared with the gradients that are judged by it.

Source: J. N. Lyness, C. B. Moler, "Numerical differentiation of analytic functions", SIAM J. Numer. Anal. 4 (1967).
"""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from scanviz.engine.graph.nodes import Array
from scanviz.testing.loop_case import LoopCase, OutputCase, SequenceCase
from scanviz.testing.unrolled import run_plainly

_POINTS = 12


def moved(case: LoopCase, along: Mapping[str, Array], z: complex) -> LoopCase:
    """Return the loop with ``z`` times a direction added to each input, by the names that ``case.build()`` gives them."""

    def at(name: str, values: Array) -> Array:
        return np.asarray(values + z * along[name], "complex128")

    def output(k: int, case: OutputCase) -> OutputCase:
        return case if case.initial is None else replace(case, initial=at(f"h{k}", case.initial))

    return replace(
        case,
        dtype="complex128",
        sequences=[
            SequenceCase(at(f"x{k}", sequence.values), sequence.taps)
            for k, sequence in enumerate(case.sequences)
        ],
        outputs=[output(k, output_case) for k, output_case in enumerate(case.outputs)],
        constants=[at(f"w{k}", constant) for k, constant in enumerate(case.constants)],
        captured=None if case.captured is None else at("captured", case.captured),
        shared_start=None if case.shared_start is None else at("state", case.shared_start),
    )


def cost_of_values(case: LoopCase) -> complex:
    """Return the differentiated number of a loop's values: the sum of sines of its results and cosines of its state."""
    results, state = run_plainly(case)
    total = sum(np.sum(np.sin((1 + 0.25 * k) * result)) for k, result in enumerate(results))
    return complex(total if state is None else total + np.sum(np.cos(state)))


def taylor_coefficients(
    case: LoopCase, along: Mapping[str, Array], order: int, radius: float = 0.02
) -> tuple[Array, Array]:
    """Return the coefficients 0 to ``order`` of the cost along a direction, and how far each may be wrong.

    Examples
    --------
    >>> from hypothesis import find
    >>> from scanviz.testing import random_loops
    >>> case = find(random_loops(stops=False, smooth=True, dtypes=("float64",)), lambda case: case.n_steps == 2)
    >>> still = {name: np.zeros(()) for name in ("x0", "x1", "h0", "h1", "h2", "w0", "captured", "state")}
    >>> bool(abs(taylor_coefficients(case, still, 1)[0][1]) < 1e-9)
    True
    """
    found, again = (_coefficients(case, along, order, number) for number in (radius, radius / 2))
    return found, 4 * np.abs(found - again)


def _coefficients(case: LoopCase, along: Mapping[str, Array], order: int, radius: float) -> Array:
    angles = np.exp(2j * np.pi * np.arange(_POINTS) / _POINTS)
    values = np.array([cost_of_values(moved(case, along, radius * angle)) for angle in angles])
    return np.array([np.mean(values * angles**-k).real / radius**k for k in range(order + 1)])
