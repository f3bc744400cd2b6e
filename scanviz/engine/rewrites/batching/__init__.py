"""One operation over all rows at once instead of one a step: the meaning of each op over a new leading axis.

Operations on rows of sequences alone can run over all rows before the loop, and operations whose results no step reads can run
over all rows after it: each as one operation.  Rows of the table are in the file of the op's family.
"""

from scanviz.engine.rewrites.batching.operations import BATCHING, batched

__all__ = ["BATCHING", "batched"]
