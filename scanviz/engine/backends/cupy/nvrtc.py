"""Compile CUDA C++ to machine code of a GPU by NVRTC, without contraction and with subnormal numbers.

CuPy's own compilation flushes subnormal numbers of float32 to zero.  NVRTC needs no driver.  The code is kept on disk, as native
code is.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from scanviz.engine.backends.native.cache import entries
from scanviz.engine.errors import BackendError
from scanviz.engine.locks import lock

# each operation rounds, as on the CPU
FLAGS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
_LOCK = lock()


def machine_code(source: str, architecture: str) -> bytes:
    """Return the machine code ("cubin") of a source for an architecture such as ``"sm_90"``.

    Raises
    ------
    BackendError
        If NVRTC is missing or refuses the source.
    """
    key = entries.key_of("cuda", str(version()), architecture, *FLAGS, source)
    found = entries.load(key)
    if found is None:
        found, _ = compiled(source, architecture)
        entries.store(key, found)
    return found


def compiled(source: str, architecture: str, *flags: str) -> tuple[bytes, str]:
    """Return the machine code of a source, and what NVRTC printed."""
    library, program = _library(), ctypes.c_void_p()
    options = [f"--gpu-architecture={architecture}", *FLAGS, *flags]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    with _LOCK:
        _check(library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"loop.cu", 0, None, None))
        try:
            failed = library.nvrtcCompileProgram(program, len(options), given)
            log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
            if failed:
                raise BackendError("NVRTC does not compile a kernel", found=log.decode(errors="replace"))
            return _text(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program), log.rstrip(b"\0").decode(
                errors="replace"
            )
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))


def version() -> tuple[int, int]:
    """Return the version of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def _text(size_of: Any, read: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(read(program, text))
    return text.raw


def _check(code: int) -> None:
    if code:
        raise BackendError(f"NVRTC failed with code {code}")


@cache
def _library() -> Any:
    """Return NVRTC, as CuPy's own finder of CUDA's libraries finds it."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("nvrtc").abs_path)
    except (ImportError, OSError, RuntimeError) as error:
        raise BackendError(
            "NVRTC, CUDA's compiler of kernels, is not installed",
            found=str(error).partition("\n")[0],
            fix='pip install "scanviz[cuda13]" (CUDA 13) or "scanviz[cuda12]" (CUDA 12)',
        ) from error
