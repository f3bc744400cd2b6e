"""Testing tools, public: hypothesis strategies for whole random loops, and a plain Python loop to compare with.

They need hypothesis (``pip install "scanviz[test]"``); scanviz itself does not.
"""

from scanviz.testing.loops import LoopCase, random_loops
from scanviz.testing.plain import run_plainly

__all__ = ["LoopCase", "random_loops", "run_plainly"]
