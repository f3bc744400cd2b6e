"""Registry of backends: built-in ones, and plug-ins of the entry-point group ``scanviz.backends``.

A backend is imported on first use, so programs without LLVM or CuPy do not pay for them.  The error for a missing backend has the
command that installs it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from scanviz.engine.errors import BackendError

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Availability, Backend
    from scanviz.plugins import Plugin


GROUP = "scanviz.backends"
_BUILT_IN = {
    "reference": ("scanviz.engine.backends.reference", "ReferenceBackend"),
    "numpy": ("scanviz.engine.backends.numpy", "NumpyBackend"),
    "native": ("scanviz.engine.backends.native", "NativeBackend"),
    "cupy": ("scanviz.engine.backends.cupy", "CupyBackend"),
}
# chooses between the others: no tier itself
_USUAL = {"auto": ("scanviz.engine.backends.auto", "AutoBackend")}
_factories: dict[str, Callable[[], Backend]] = {}
_made: dict[str, Backend] = {}
_broken: dict[str, str] = {}


def register(name: str, factory: Callable[[], Backend]) -> None:
    """Add a backend under a name; a later one replaces an earlier one.

    Examples
    --------
    >>> from scanviz.engine.backends.reference import ReferenceBackend
    >>> register("mine", ReferenceBackend)
    >>> resolve("mine").name
    'reference'
    """
    _factories[name] = factory
    _made.pop(name, None)


def names() -> list[str]:
    """Return the names of all backends, built-in ones first, whether they work here or not."""
    from scanviz.plugins import plugins

    return [*_BUILT_IN, *(name for name in {**plugins(GROUP), **_factories} if name not in _BUILT_IN)]


def broken() -> dict[str, str]:
    """Return plug-ins that could not be loaded, with the reason."""
    for name in names():
        try:
            resolve(name)
        except BackendError:
            continue
    return dict(_broken)


def resolve(name: str) -> Backend:
    """Return the backend of a name; ``"auto"`` is the default tier.

    Raises
    ------
    BackendError
        If there is no such backend, or it cannot be loaded.
    """
    found = _made.get(name)
    if found is None:
        found = _made.setdefault(name, _make(name))  # shared by all threads
    return found


def _make(name: str) -> Backend:
    factory, built_in = _factories.get(name), _BUILT_IN.get(name) or _USUAL.get(name)
    plugin = _plugin(name) if factory is None and built_in is None else None
    try:
        if factory is None and built_in is not None:
            factory = getattr(importlib.import_module(built_in[0]), built_in[1])
        elif plugin is not None:
            factory = plugin.load()
        assert factory is not None
        return factory()
    except Exception as error:  # third-party code may raise anything
        from scanviz.plugins import PluginFailure

        if isinstance(error, PluginFailure):
            _broken[name] = str(error)
            raise BackendError(str(error)) from error.__cause__
        _broken[name] = f"{type(error).__name__}: {error}"
        failed = f"the backend {name!r} could not be loaded ({_broken[name]})"
        raise BackendError(failed if plugin is None else plugin.failed(_broken[name])) from error


def _plugin(name: str) -> Plugin:
    """Return the plug-in of a name."""
    from scanviz.plugins import plugins  # searched when no other has the name

    found = plugins(GROUP).get(name)
    if found is not None:
        return found
    known = names()
    import difflib  # slow to import, and seldom needed

    close = difflib.get_close_matches(name, known, 1)
    raise BackendError.here(
        f"there is no backend named {name!r}",
        expected=", ".join(["auto", *known]),
        fix=answer_to(name) or (f"Mode({close[0]!r})" if close else None),
    )


def availability(name: str) -> Availability:
    """Return whether a backend works here; a broken one is reported, never raised."""
    try:
        return resolve(name).availability()
    except BackendError as error:
        from scanviz.engine.backends.base import Availability

        return Availability(False, error.what)


_LEAVE_OUT = "nothing: leave mode out, which is the fastest that pays, with all rewrites"
_UNREWRITTEN = 'mode=scanviz.Mode("numpy", rewrites="none"), or "reference", the oracle of all tiers'
_COMPILED = 'mode="native" for machine code; left out, a loop gets it where it pays'
_CHECK_COMMAND = "no mode: `scanviz check SCRIPT` finds the first NaN or infinity"
_VERIFIED = 'no mode: `scanviz rewrites --verify SCRIPT`; mode="reference" computes without rewrites'
_PROFILED = "function(…, profile=True), or `scanviz profile SCRIPT`"
_PRINTED = "no mode: `scanviz profile --values SCRIPT`, or scanviz.trace(f, …)"
_ANSWERS = {
    "fastrun": _LEAVE_OUT,
    "vm": _LEAVE_OUT,
    "cvm": _LEAVE_OUT,
    "fastcompile": _UNREWRITTEN,
    "py": _UNREWRITTEN,
    "c": _COMPILED,
    "c|py": _COMPILED,
    "numba": _COMPILED,
    "jax": _COMPILED,
    "nanguardmode": _CHECK_COMMAND,
    "debugmode": _VERIFIED,
    "profilemode": _PROFILED,
    "monitormode": _PRINTED,
}


def answer_to(name: str) -> str | None:
    """Return the replacement of another library's mode name, None for any other name.

    Examples
    --------
    >>> answer_to("DEBUG_MODE") == answer_to("DebugMode")
    True
    >>> answer_to("FAST_COMPILE")
    'mode=scanviz.Mode("numpy", rewrites="none"), or "reference", the oracle of all tiers'
    """
    return _ANSWERS.get(name.lower().replace("_", ""))
