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
    known = _told()
    if not any(known.get(name) for name in _INSTRUCTIONS):
        return None
    return repr((platform.machine(), sorted(known.items())))


def widest_registers() -> int | None:
    """Return how many bytes the widest registers of an x86 processor have; None of another, or where the system does not say."""
    flags = _told().get("flags", "").split() if platform.machine() == "x86_64" else ()
    if not flags:
        return None
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


@cache
def _told() -> dict[str, str]:
    """Return what the system says of the first processor; nothing where it does not."""
    known: dict[str, str] = {}
    try:
        with open(CPU_INFO) as lines:  # of many processors only what stands of the first is asked for
            for line in lines:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                if name.strip() in _TELLING:
                    known[name.strip()] = value.strip()
    except (OSError, UnicodeDecodeError):
        return {}
    return known


__all__ = ["described", "widest_registers"]
