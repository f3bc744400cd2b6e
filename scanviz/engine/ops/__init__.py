"""Operations, one file a family; a file declares its own when it is imported, and all do when somebody asks for all."""

import importlib
import os

from scanviz.engine.graph.declaration import OTHERS


def _declare_all() -> None:
    for folder in __path__:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py") and name != "__init__.py":
                importlib.import_module(f"{__name__}.{name.removesuffix('.py')}")


OTHERS.append(_declare_all)
