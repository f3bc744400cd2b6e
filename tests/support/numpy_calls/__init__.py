"""Random calls of functions with NumPy's names, each with its meaning here and in NumPy.

One function a name, in the file of its family; :data:`CALLS` has them all.  Laws and tests ask every one of them.
"""

from tests.support.numpy_calls import arrays, joining, matrices, order, products, special
from tests.support.numpy_calls.call import CALLS, NumpyCall

FAMILIES = (arrays, joining, matrices, order, products, special)
__all__ = ["CALLS", "FAMILIES", "NumpyCall"]


def __dir__() -> list[str]:
    return sorted(__all__)
