"""Settings of the process: defaults of dtypes and of scan, read from environment variables at import.

``SCANVIZ_FLOATX=float32``, ``SCANVIZ_MODE=reference``, ``SCANVIZ_REWRITES=all,-PushOutDot1``, ``SCANVIZ_TRACEBACK=full`` and
``SCANVIZ_NATIVE_CACHE=off`` set the first values; assignment changes them later.
"""

from __future__ import annotations

import os
from numbers import Real
from typing import Any, TypeVar

from scanviz.engine.errors import ScanvizAttributeError, ScanvizValueError

Number = TypeVar("Number", int, float)
_KIND = {int: "a whole number", float: "a number"}


def _from_environment(variable: str, usual: Number) -> Number:
    """Return the number in an environment variable, or the default if it is not set."""
    text = os.environ.get(variable)
    if not text:
        return usual
    try:
        number = type(usual)(text)
    except ValueError:
        expected = f"{_KIND[type(usual)]} from 0 on"
        raise ScanvizValueError(f"{variable} cannot be set", expected=expected, found=repr(text)) from None
    _check_at_least_0(variable, number)
    return number


def _check_at_least_0(name: str, value: object) -> None:
    if not isinstance(value, Real) or not float(value) >= 0:  # NaN is not
        raise ScanvizValueError(f"{name} cannot be set", expected="a number from 0 on", found=repr(value))


class ScanConfig:
    """Defaults of loops.

    Attributes
    ----------
    allow_gc : bool
        False keeps a loop's buffers between calls, True frees them after each, unless they are a few kilobytes.
    """

    __slots__ = ("allow_gc",)

    def __init__(self) -> None:
        self.allow_gc = True


class NativeConfig:
    """Settings of native code.

    Attributes
    ----------
    cache : str
        Folder of compiled loops for later processes: ``"auto"`` is the platform's cache folder, ``"off"`` disables the cache, other
        values are the path of a folder.  The folder must belong to the user, and be writable for the user only.
    cache_bytes : int
        Approximate limit on the size of that folder; least recently used entries are removed first.
    pays_after : float
        Compile threshold of the mode ``"auto"``: a loop is compiled before its function's loops would take more than this estimated
        NumPy time, in seconds.  0 compiles all loops, infinity none.
    threads : int
        Most threads that one call of a loop may use; 0 for the number of processors available to the process.
    """

    __slots__ = ("cache", "cache_bytes", "pays_after", "threads")

    def __init__(self) -> None:
        self.cache = os.environ.get("SCANVIZ_NATIVE_CACHE") or "auto"
        self.cache_bytes = 64_000_000
        # Measured on power, leaky_tanh, rnn, lstm, rnn_gradient and kalman of benchmarks/peer_programs: seconds of a process to the
        # end of its 1st, 10th and 100th call, geometric means: 0.135, 0.159, 0.198 at 3 ms; 0.120, 0.150, 0.199 at 10 ms; 0.111,
        # 0.153, 0.214 at 30 ms.
        self.pays_after = _from_environment("SCANVIZ_NATIVE_PAYS_AFTER", 0.01)
        self.threads = _from_environment("SCANVIZ_NATIVE_THREADS", 0)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("cache_bytes", "pays_after", "threads"):
            _check_at_least_0(f"config.native.{name}", value)
        object.__setattr__(self, name, value)


class Config:
    """Settings of the process.

    Attributes
    ----------
    floatX : str
        Default dtype of constructors (``T.matrix()``): ``"float64"`` or ``"float32"``.
    mode : str
        Name of the default tier: ``"auto"``, ``"numpy"``, ``"native"``, ``"reference"``, ``"cupy"`` or a plug-in's.
    rewrites : str
        Rules that functions use by default: ``"auto"`` (none on the reference tier, all on every other), ``"all"``, ``"none"``, or
        words such as ``"all,-PushOutDot1"``.
    scan : ScanConfig
        Defaults of loops.
    native : NativeConfig
        Settings of native code.
    kept_memory : int
        Most bytes of unused long arrays kept for the rows of later calls; 0 returns the memory to the system.
    traceback : str
        ``"short"`` hides scanviz's own frames in the tracebacks that Python prints, ``"full"`` shows them.

    Examples
    --------
    >>> Config().scan.allow_gc
    True
    """

    __slots__ = ("_floatX", "_traceback", "kept_memory", "mode", "native", "rewrites", "scan")

    def __getattr__(self, name: str) -> Any:
        raise _no_setting(name)

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(Config, name):
            raise _no_setting(name)
        if name == "kept_memory":
            _check_at_least_0("config.kept_memory", value)
        object.__setattr__(self, name, value)

    def __init__(self) -> None:
        self.floatX = os.environ.get("SCANVIZ_FLOATX") or "float64"
        self.mode = os.environ.get("SCANVIZ_MODE") or "auto"
        self.rewrites = os.environ.get("SCANVIZ_REWRITES") or "auto"
        self.scan = ScanConfig()
        self.native = NativeConfig()
        self.kept_memory = _from_environment("SCANVIZ_KEPT_MEMORY", 64_000_000)
        debugging = "full" if os.environ.get("SCANVIZ_DEBUG") else "short"
        self.traceback = os.environ.get("SCANVIZ_TRACEBACK") or debugging

    @property
    def traceback(self) -> str:
        """Style of the tracebacks that Python prints: ``"short"`` or ``"full"``."""
        return self._traceback

    @traceback.setter
    def traceback(self, value: str) -> None:
        if value not in ("short", "full"):
            raise ScanvizValueError(
                "config.traceback cannot be set", expected="'short' or 'full'", found=repr(value)
            )
        self._traceback = value

    @property
    def floatX(self) -> str:
        """Default dtype of constructors."""
        return self._floatX

    @floatX.setter
    def floatX(self, value: str) -> None:
        if value not in ("float32", "float64"):
            raise ScanvizValueError(
                "config.floatX cannot be set", expected="'float32' or 'float64'", found=repr(value)
            )
        self._floatX = value


# Settings of Theano and PyTensor, and what is written instead.
_INSTEAD = {
    "compute_test_value": "nothing: x.eval({…}) computes any variable, and `scanviz check SCRIPT` looks at a real run",
    "device": 'mode="cupy" in function for a GPU',
    "exception_verbosity": "nothing: errors name the line, the loop and the step; config.traceback",
    "gcc": "nothing: machine code needs no compiler",
    "optimizer": "config.rewrites",
    "profile": "function(…, profile=True), or `scanviz profile SCRIPT`",
    "blas": "nothing: NumPy's library is used",
    "cxx": "nothing: machine code needs no compiler",
    "openmp": "config.native.threads",
    "linker": "config.mode",
    "update": "nothing: floats are float64, or of the dtype in config.floatX",
    "warn": "nothing: leave it out",
    "allow_gc": "config.scan.allow_gc",
    "cast_policy": "nothing: dtypes are NumPy's",
    "on_unused_input": "function(…, on_unused_input='ignore')",
    "base_compiledir": "config.native.cache",
    "change_flags": "nothing: leave it out, or set what there is and set it back",
    "compiledir": "config.native.cache",
    "experimental": "nothing: leave it out",
    "numba": "nothing: leave it out",
    "scan": "config.scan.allow_gc, or nothing: leave it out",
    "nanguardmode": "nothing: `scanviz check SCRIPT` finds the first NaN or infinity",
}


def _no_setting(name: str) -> ScanvizAttributeError:
    """Return the error for an unknown setting."""
    group = name.partition("__")[0]  # PyTensor writes gcc__cxxflags
    known = ", ".join(one.removeprefix("_") for one in Config.__slots__)
    return ScanvizAttributeError(
        f"config has no setting `{name}`", expected=f"one of {known}", fix=_INSTEAD.get(group)
    )


config = Config()
