"""What tells this machine's processor from others, read without LLVM: a new process that finds its code on disk needs no more."""

from __future__ import annotations

import platform
from functools import cache

CPU_INFO = "/proc/cpuinfo"
# lines of one processor that are the same whenever and on whichever core they are read
_TELLING = frozenset((
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "isa", "uarch",
))  # fmt: skip
_INSTRUCTIONS = ("flags", "Features", "isa")  # the line that says what it can do


@cache
def described() -> str | None:
    """Return the kind of processor and all that it can do, None where the system does not say."""
    known = {}
    try:
        with open(CPU_INFO) as lines:  # of many processors only what stands of the first is asked for
            for line in lines:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                if name.strip() in _TELLING:
                    known[name.strip()] = value.strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not any(known.get(name) for name in _INSTRUCTIONS):
        return None
    return repr((platform.machine(), sorted(known.items())))


__all__ = ["described"]
