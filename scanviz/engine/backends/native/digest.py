"""SHA-256 of short data without OpenSSL, whose import takes longer than reading a loop's code from disk.

Python's ``hashlib`` imports OpenSSL, which takes two milliseconds of a new process.  The same digest stands in a module of Python's
own, though much slower: long data, and all where ``hashlib`` is imported anyway, are left to OpenSSL.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

BYTES = 32  # of a digest
LONG = 2**20  # bytes


def sha256(data: Any) -> bytes:
    """Return the SHA-256 of bytes, or of a contiguous array's.

    Examples
    --------
    >>> sha256(b"abc").hex()[:16]
    'ba7816bf8f01cfea'
    """
    usual = _usual_of(memoryview(data).nbytes)
    found: bytes = usual(data).digest()
    return found


def _usual_of(size: int) -> Callable[[Any], Any]:
    if size < LONG and "_hashlib" not in sys.modules:
        try:
            if sys.version_info >= (3, 12):
                from _sha2 import sha256 as own
            else:
                from _sha256 import sha256 as own  # type: ignore[import-not-found]  # Python's own
        except ImportError:  # a Python without it
            pass
        else:
            made: Callable[[Any], Any] = own
            return made
    import hashlib

    return hashlib.sha256


__all__ = ["BYTES", "sha256"]
