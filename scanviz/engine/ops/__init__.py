"""Operations, one file per family; importing a file declares its operations, and asking for all imports all.

A declaration defines an operation's meaning on NumPy arrays, and its types and shapes.  Its derivative, its batched form and
its code for a backend stand in the file of the same family in those packages.  :mod:`~scanviz.engine.ops.support` has what
families share; :mod:`~scanviz.engine.ops.elementwise` is the family to read first.
"""

import importlib
import os

from scanviz.engine.graph.declaration import OTHERS


def _declare_all() -> None:
    for folder in __path__:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and name != "__init__.py":
                importlib.import_module(f"{__name__}.{name.removesuffix('.py')}")


OTHERS.append(_declare_all)
