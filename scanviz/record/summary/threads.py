"""Why times of functions can come to more than the run took on the clock: calls ran beside one another, in threads."""

from __future__ import annotations

from scanviz.record.model import ProfileRecord


def called_ns(record: ProfileRecord) -> int:
    """Return what the calls of all functions took, each counted once though one may have made another."""
    return sum(max(0, function.total_ns - function.call_parts.inside_ns) for function in record.functions)


def beyond_the_clock(record: ProfileRecord) -> str:
    """Return in words why times of functions come to more than the run took; nothing where they do not.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord
    >>> from scanviz.record.run_times import ThreadTimesRecord
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
