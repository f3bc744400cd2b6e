"""Notes about trust in times: time off the CPU, and threads whose times exceed wall time."""

from __future__ import annotations

from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord

WORTH_A_WORD = 0.1  # of the time on the clock
SHORTEST_NS = 1_000_000  # shorter times have no note: one tick of the system may be a tenth of them


def off_cpu_share(record: ProfileRecord | FunctionRecord | LoopRecord) -> float:
    """Return the share of a time in which no thread of the run had a processor, 0 if unknown.

    Examples
    --------
    >>> off_cpu_share(ProfileRecord(wall_ns=10_000_000, measures={"cpu_ns": 5_700_000.0}))
    0.43
    """
    wall = record.wall_ns if isinstance(record, ProfileRecord) else record.total_ns
    cpu = record.measures.get("cpu_ns")
    if cpu is None or wall <= 0:
        return 0.0
    return round(max(0.0, 1.0 - cpu / wall), 4)


def off_cpu(record: ProfileRecord | FunctionRecord | LoopRecord) -> str:
    """Return, in words, the share of a time spent off the CPU; nothing if it is small or unknown.

    Examples
    --------
    >>> numbers = {"cpu_ns": 5_700_000.0, "involuntary_switches": 31.0}
    >>> off_cpu(ProfileRecord(wall_ns=10_000_000, measures=numbers))
    'off the CPU 43 % (31 involuntary context switches)'
    >>> off_cpu(ProfileRecord(wall_ns=10_000_000, measures={"cpu_ns": 9_900_000.0}))
    ''
    """
    wall = record.wall_ns if isinstance(record, ProfileRecord) else record.total_ns
    part = off_cpu_share(record)
    if part < WORTH_A_WORD or wall < SHORTEST_NS:
        return ""
    text = f"off the CPU {100 * part:.0f} %"
    switches = record.measures.get("involuntary_switches")
    if switches is None:
        return text
    if not switches:
        return f"{text} (it waited: the system never took the processor away)"
    return f"{text} ({switches:,.0f} involuntary context switch{'es' if switches != 1 else ''})"


def called_ns(record: ProfileRecord) -> int:
    """Return the time of all calls, nested calls counted once."""
    return sum(max(0, function.total_ns - function.call_parts.inside_ns) for function in record.functions)


def beyond_the_clock(record: ProfileRecord) -> str:
    """Return, in words, why functions' times exceed the run's; nothing if they do not.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord
    >>> from scanviz.record.model import ThreadTimesRecord
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=30, call_times=DurationRecord(30, 800))
    >>> threads = ThreadTimesRecord(inside_ns=10, beside_ns=790, others=3)
    >>> beyond_the_clock(ProfileRecord(wall_ns=320, functions=(called,), threads=threads))
    'functions were called in 3 threads beside the first one, so their times come to 2.5 times the clock: 250 % in all'
    >>> beyond_the_clock(ProfileRecord(wall_ns=900, functions=(called,), threads=threads))
    ''
    """
    total = called_ns(record)
    if record.wall_ns <= 0 or total <= record.wall_ns:
        return ""
    threads = record.threads
    if not threads.others:
        return ""  # calls that had not ended when the clock was read, or readings of the clock
    where = f"{threads.others:,} {'thread' if threads.others == 1 else 'threads'}"
    times = total / record.wall_ns
    return (
        f"functions were called in {where} beside the first one, "
        f"so their times come to {times:.2g} times the clock: {100 * times:,.0f} % in all"
    )
