"""Functions that are imported when they are first called.

Tables and declarations name functions that few programs call: how an operation is written, which axes it goes along.  They name
them by this, and the file that has them is not among those that all programs wait for:

    if TYPE_CHECKING:
        from scanviz.engine.ops import axes
    else:
        axes = functions_of("scanviz.engine.ops.axes")
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class Later:
    """A function of a module that need not be imported yet; two of the same function are one object.

    Examples
    --------
    >>> later = functions_of("math").sqrt
    >>> later(9), later.found(), functions_of("math").sqrt is later
    (3.0, <built-in function sqrt>, True)
    """

    __slots__ = ("__name__", "_found", "_module")

    def __init__(self, module: str, name: str) -> None:
        self._module, self.__name__ = module, name
        self._found: Callable[..., Any] | None = None

    def found(self) -> Callable[..., Any]:
        """Return the function itself."""
        if self._found is None:
            self._found = getattr(importlib.import_module(self._module), self.__name__)
        return self._found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.found()(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._module}.{self.__name__}, imported when it is called>"


class FunctionsOf:
    """Stands for a module while it is not imported; its attributes are functions alone."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Later:
        if name.startswith("__"):  # what Python asks of any object
            raise AttributeError(name)
        found = Later(self._module, name)
        vars(self)[name] = found
        return found


_MODULES: dict[str, FunctionsOf] = {}


def functions_of(module: str) -> Any:
    """Return what stands for a module of functions until one of them is called."""
    return _MODULES.setdefault(module, FunctionsOf(module))
