"""How much of a time nobody worked: the processor was another's, or the thread waited.  Said before times are believed."""

from __future__ import annotations

from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord

WORTH_A_WORD = 0.1  # of the time on the clock
SHORTEST_NS = 1_000_000  # of shorter times it is not said: one tick of the system may be a tenth of them


def off_cpu_share(record: ProfileRecord | FunctionRecord | LoopRecord) -> float:
    """Return the part of a time in which no thread of the run had the processor, 0 where that is not known.

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
    """Return in words how much of a time was spent off the CPU; nothing where that is little, or is not known.

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
