"""One operation over all rows at once instead of one a step: the meaning of each op over a new leading axis.

What a loop computes of each row of its sequences alone can be computed of all rows before the loop, and what it only gives
out can be computed after it, each as one operation.  Rows of the table are in the file of the op's family.
"""

from scanviz.engine.rewrites.batching.operations import BATCHING, batched

__all__ = ["BATCHING", "batched"]
