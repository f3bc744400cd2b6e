"""Where SciPy's special functions of float64 numbers are, which code calls."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

SPECIAL = "scanviz.special."  # what the names of SciPy's begin with


@cache
def special(name: str) -> int:
    """Return the address of one of SciPy's functions."""
    capsules, get_name, get_pointer = _capsules()
    for key in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
        if key in capsules:
            told = get_name(capsules[key])
            if told.startswith((b"double (double", b"npy_double (npy_double")):
                found: int = get_pointer(capsules[key], told)
                return found
    raise LookupError(name)


@cache
def _capsules() -> tuple[dict[str, Any], Any, Any]:
    from scipy.special import cython_special

    pointer, told = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    told.restype, told.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return dict(cython_special.__pyx_capi__), told, pointer


__all__ = ["SPECIAL", "special"]
