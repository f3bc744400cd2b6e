"""Public testing tools: hypothesis strategies for random loops, a plain Python loop as oracle, a check of derivatives.

They need hypothesis (``pip install "scanviz[test]"``); scanviz itself does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.rewrites.pipeline import rewritten
from scanviz.engine.rewrites.selection import Selection
from scanviz.testing.loops import LoopCase, random_loops
from scanviz.testing.unrolled import run_plainly, unroll
from scanviz.testing.verify import GradientMismatchError, verify_grad

__all__ = [
    "GradientMismatchError",
    "LoopCase",
    "random_loops",
    "rewritten_by",
    "run_plainly",
    "unroll",
    "verify_grad",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def rewritten_by(names: str | Sequence[str], outputs: Sequence[Variable]) -> list[Variable]:
    """Return a graph rewritten by the given rules only.

    Parameters
    ----------
    names : str or sequence of str
        Rules or tags.
    outputs : sequence of Variable
        The graph.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.graph.nodes import describe
    >>> x = T.vector("x")
    >>> describe(rewritten_by("resolve_shapes", [T.tanh(x).shape[0]])[0])
    'x.shape[0]'
    """
    chosen = [names] if isinstance(names, str) else list(names)
    return rewritten(outputs, Selection("none").including(*chosen))
