"""The processor's cycle counter as a clock.

On x86 the counter has a constant rate with the flags ``constant_tsc`` and ``nonstop_tsc``; the rate is calibrated once against
the process clock.  Elsewhere native code reads the process clock itself.  A reading takes some 10 ns and does not wait for earlier
instructions, so a fence precedes it where operations are timed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from ctypes import addressof, c_int64
from functools import cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from scanviz.engine.backends.native.cache.jit import compiled, module_text

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.ir import Code, Value

MEASURED_NS = 3_000_000  # how long the counter is compared with the clock
PAIRS = 8  # pairs of readings; the closest pair is used
STAMPS = 2_000  # readings taken to measure the cost of one
CLOCK_MONOTONIC = 1  # Linux's, which time.perf_counter_ns reads


class Counter(NamedTuple):
    """Calibration of the cycle counter.

    Attributes
    ----------
    tick_ns : float
        The nanoseconds of a tick.
    stamp_ns : float
        The nanoseconds that a stamp costs.
    """

    tick_ns: float
    stamp_ns: float


@cache
def is_steady() -> bool:
    """Return whether there is a counter with a constant rate, equal on all cores."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        with open("/proc/cpuinfo") as file:
            flags = set(file.read().split("\nflags", 1)[-1].split("\n", 1)[0].split())
    except OSError:
        return False
    return {"constant_tsc", "nonstop_tsc"} <= flags


def write_now(code: Code, fenced: bool) -> Value:
    """Write a reading of the time: ticks of the counter, or nanoseconds by way of ``%clock``."""
    if is_steady():
        if fenced:
            code.line('call void asm sideeffect "lfence", "~{memory}"()')
        code.declared["llvm.readcyclecounter"] = "declare i64 @llvm.readcyclecounter()"
        return code.op("call i64 @llvm.readcyclecounter()", "int64")
    code.declared["clock_gettime"] = "declare i32 @clock_gettime(i32, ptr)"
    code.line(f"call i32 @clock_gettime(i32 {CLOCK_MONOTONIC}, ptr %clock)")
    from scanviz.engine.backends.native.emit.ir import Value  # slow to import, only needed to write code

    seconds = code.load(Value("%clock", "address"), "int64")
    rest = code.load(code.at(Value("%clock", "address"), 8), "int64")
    return code.add(code.times(seconds, 1_000_000_000), rest)


@cache
def counter() -> Counter:
    """Calibrate the counter, once in a process."""
    if not is_steady():
        return Counter(1.0, _stamp_ticks())
    begun = _pair()
    while perf_counter_ns() - begun[1] < MEASURED_NS:
        pass
    ended = _pair()
    tick_ns = (ended[1] - begun[1]) / (ended[0] - begun[0])
    return Counter(tick_ns, _stamp_ticks() * tick_ns)


def reading() -> tuple[int, int]:
    """Return (ticks, nanoseconds of the clock); zeros if code reads the clock itself."""
    return _pair(2) if is_steady() else (0, 0)


def _pair(readings: int = PAIRS) -> tuple[int, int]:
    ticks, found = _ticks(), []
    for _ in range(readings):
        before = perf_counter_ns()
        tick = ticks()
        after = perf_counter_ns()
        found.append((after - before, tick, (before + after) // 2))
    return min(found)[1:]


@cache
def _ticks() -> Callable[[], int]:
    from scanviz.engine.backends.native.emit.ir import Code

    code = Code()
    code.line(f"ret i64 {write_now(code, False).text}")
    machine = compiled(module_text(code))
    return lambda: machine.function(0, 0, None, None)


def _stamp_ticks() -> float:
    """Measure the ticks that one stamp takes."""
    from scanviz.engine.backends.native.emit.ir import Code, Value

    code = Code()
    if not is_steady():
        code.line("%clock = alloca [2 x i64], align 8")
    first = write_now(code, False)
    with code.counted(Value("%first", "int64"), Value("%last", "int64")):
        code.store(write_now(code, False), Value("%addresses", "address"))
    code.line(f"ret i64 {code.op(f'sub i64 {write_now(code, False).text}, {first.text}', 'int64').text}")
    machine, place = compiled(module_text(code)), c_int64()
    return min(machine.function(0, STAMPS, addressof(place), None) for _ in range(5)) / STAMPS
