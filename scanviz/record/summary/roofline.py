"""Operations beside the machine's limits: the least possible time of each, and the limit that sets it.

The machine's limits are numbers of the run, measured after it (``scanviz profile --roofline``).  The least time is that of moving
an operation's bytes, or of its arithmetic, whichever is longer; work that fits into a cache is compared with copies that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from scanviz.record.loops import LoopRecord
from scanviz.record.measures import Measure, declared
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of

SHOWN = (
    "large_copy_bytes_per_s",
    "small_copy_bytes_per_s",
    "product_flops_per_s",
    "element_flops_per_s",
    "numpy_call_ns",
)  # limits in views
WORTH = 0.01  # of the time of all of them: operations that take less are not listed
SMALL, MEDIUM = 2**17, 2**20  # bytes moved by the copies that were measured
Kind = Literal["memory", "arithmetic", "the call"]


class Bound(NamedTuple):
    """The least possible time of an operation on this machine, and the limit that sets it.

    Attributes
    ----------
    kind : str
        ``"memory"`` or ``"arithmetic"``; ``"the call"`` where calling NumPy alone takes longer than either.
    least_ns : float
        The least time of one application.
    reached : float
        Its share of the typical time; above 1 where the limit does not hold for the operation, such as of reads alone.
    """

    kind: Kind
    least_ns: float
    reached: float


class Bounded(NamedTuple):
    """An operation with its bound, its loop and its total time."""

    operation: OperationRecord
    loop: LoopRecord | None
    total_ns: float
    bound: Bound


def bound_of(limits: Mapping[str, float], operation: OperationRecord, native: bool = False) -> Bound | None:
    """Return the bound of an operation, or None if its work, its time or the machine's limits are unknown.

    Parameters
    ----------
    limits : mapping
        Declared numbers of the run.
    operation : OperationRecord
        One with bytes or floating-point operations.
    native : bool
        Whether it is no call of NumPy.

    Examples
    --------
    >>> limits = {"large_copy_bytes_per_s": 10e9, "product_flops_per_s": 40e9, "element_flops_per_s": 2e9}
    >>> work = {"bytes": 24e6, "flops": 2e9, "product_flops": 2e9}
    >>> bound_of(limits, OperationRecord(0, "dot(a, b)", "operation", "float64[1000, 1000]", None, typical_ns=1e8, measures=work))
    Bound(kind='arithmetic', least_ns=50000000.0, reached=0.5)
    """
    time_ns, numbers = operation.typical_ns, operation.measures
    moved, done, products = (numbers.get(name, 0.0) for name in ("bytes", "flops", "product_flops"))
    if time_ns <= 0 or not (moved or done) or "large_copy_bytes_per_s" not in limits:
        return None
    size = "small" if moved <= SMALL else "medium" if moved <= MEDIUM else "large"
    single = "_float32" if operation.output.startswith("float32") else ""
    memory_ns = _least_ns(moved, limits, f"{size}_copy_bytes_per_s")
    arithmetic_ns = _least_ns(products, limits, f"product_flops_per_s{single}")
    elements = (
        "product" if native else "element"
    )  # machine code keeps in registers what NumPy fetches for each addition
    arithmetic_ns += _least_ns(done - products, limits, f"{elements}_flops_per_s{single}")
    call_ns = 0.0 if native else limits.get("numpy_call_ns", 0.0)
    listed: list[tuple[float, Kind]] = [
        (memory_ns, "memory"),
        (arithmetic_ns, "arithmetic"),
        (call_ns, "the call"),
    ]
    least_ns, kind = max(listed, key=lambda pair: pair[0])
    return Bound(kind, least_ns, least_ns / time_ns)


def _least_ns(done: float, limits: Mapping[str, float], name: str) -> float:
    limit = limits.get(name) or limits.get(name.replace("small", "large").replace("medium", "large"), 0.0)
    return done / limit * 1e9 if limit > 0 else 0.0


def bounded(record: ProfileRecord) -> list[Bounded]:
    """Return the operations with a known bound, the most expensive first."""
    return sorted(_bounded(record), key=lambda entry: -entry.total_ns)


def worth_showing(record: ProfileRecord) -> list[Bounded]:
    """Return the operations that take a noticeable share of the time of all of them."""
    found = bounded(record)
    whole = sum(entry.total_ns for entry in found)
    return [entry for entry in found if entry.total_ns >= WORTH * whole]


def known_limits(record: ProfileRecord) -> list[tuple[Measure, float]]:
    """Return the measured limits of the machine; empty if none was measured.

    Examples
    --------
    >>> limits = known_limits(ProfileRecord(measures={"numpy_call_ns": 400.0}))
    >>> [(measure.title, value) for measure, value in limits]
    [('a call', 400.0)]
    """
    values = ((declared("run", name), record.measures.get(name)) for name in SHOWN)
    return [(measure, value) for measure, value in values if value is not None]


def is_native(loop: LoopRecord) -> bool:
    """Return whether the operations of a loop's step ran without calls of NumPy."""
    return any(tier.tier == "native" for tier in loop.tiers)


def _bounded(record: ProfileRecord) -> Iterator[Bounded]:
    times = OperationTimes(parts_of(record))
    owners: list[FunctionRecord | LoopRecord] = [*record.functions, *record.loops]
    for owner in owners:
        loop = owner if isinstance(owner, LoopRecord) else None
        native = loop is not None and is_native(loop)
        for operation in owner.operations:
            found = bound_of(record.measures, operation, native) if operation.samples else None
            if found is not None:
                yield Bounded(operation, loop, times.of(owner, operation), found)
