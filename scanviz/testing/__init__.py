"""Testing tools, public: hypothesis strategies for whole random loops, a plain Python loop to compare with, a check of derivatives.

They need hypothesis (``pip install "scanviz[test]"``); scanviz itself does not.
"""

from scanviz.testing.loops import LoopCase, random_loops
from scanviz.testing.rewriting import rewritten_by
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
