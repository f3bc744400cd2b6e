"""Events as data: a compiled function, times of steps, counted runs of loops, sides of branches."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from time import get_clock_info
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import BranchInstruction

Times = np.ndarray[Any, Any]
UNKNOWN = -(2**62)
RESOLUTION = get_clock_info("perf_counter").resolution * 1e9  # nanoseconds


class CompiledFunction(NamedTuple):
    """Facts of a compiled function, reported once before its first call.

    Attributes
    ----------
    key : int
        Identifies the function in later events.
    name : str
        The user's name, or the source line of the function.
    function : object
        The compiled :class:`~scanviz.engine.function.Function`.
    program : object
        Its :class:`~scanviz.engine.program.instructions.Program`; loops are found in it, each with a ``key``.
    backend : str
        Name of the tier that will run it, such as ``"numpy"``.
    build_ns : dict[str, int]
        Nanoseconds of each build stage (``rewrite``, ``lower``, ``compile``).
    where : object
        Source line of the ``function(...)`` call.
    tier_reason : str
        The reason for the tier if it was chosen for the arguments of a call; else empty.
    """

    key: int
    name: str
    function: Any  # this and the program are typed above this layer
    program: Any
    backend: str
    build_ns: dict[str, int]
    where: object
    tier_reason: str = ""


class StepSeries(Struct):
    """Times of steps of one run of one loop, in order: of single steps or of blocks of steps.

    A time is measured over an *interval*, which covers one step or several.  Steps that no interval covers were done, but have no
    time.

    Attributes
    ----------
    loop : int
        Key of the loop.
    first : int
        Number of the first step in this chunk, from 0.
    steps : int
        Number of steps done; by default those with a time.
    interval_ns : numpy.ndarray
        int64, shape (intervals,): nanoseconds of each interval (slices, body, stores and loop overhead of its steps).
    covers : numpy.ndarray or None
        int64, shape (intervals,): how many steps each covers; None where that is one.
    op_ns : numpy.ndarray or None
        Shape (instructions of the body, intervals): nanoseconds of each instruction of the loop's body program, in program
        order, for chunks run with the per-operation variant; None otherwise.  Shares of what several take that are done as one
        are no whole numbers.
    copy_ns : numpy.ndarray or None
        int64, shape (intervals,): nanoseconds spent copying results into the rows kept; given with ``op_ns``.
    op_stamps : sequence of float or None
        Number of stamps in the time of each instruction: a part of one where several are done as one, 0 where it has no time
        of its own.  None where each holds one.
    span_ns : int
        Nanoseconds of all these steps, those without a time included; by default the sum of the times.
    entry_ns : int
        Nanoseconds of ``span_ns`` before the first of them; by default all that is in no time.
    source : str
        Source of the times: ``"perf_counter"``, ``"cycle counter"``, ``"cuda events"``.
    resolution_ns : float
        Times are multiples of that.
    stamp_ns : float or None
        Cost of taking one time; None where it is the clock of the process, whose cost is measured elsewhere.
    control : bool
        Whether these steps ran unobserved, to measure the cost of stamps by comparison.
    plain : bool
        Whether the timed code is the unobserved variant: its stamps are too few to cost anything.
    off_cpu_ns : int
        Nanoseconds of ``span_ns`` in which the thread was off the CPU, if measured; intervals of control steps exclude them.
    tier : str
        The tier of the code that ran.  It may change from run to run; each tier has a typical step of its own.
    inside_ns : dict of int to int
        In a control block, nanoseconds of inner loops' runs in these steps, by the key of the inner loop.
    """

    loop: int
    first: int
    interval_ns: Times
    op_ns: Times | None = None
    copy_ns: Times | None = None
    source: str = "perf_counter"
    covers: Times | None = None
    steps: int = UNKNOWN
    span_ns: int = UNKNOWN
    entry_ns: int = UNKNOWN
    resolution_ns: float = RESOLUTION
    stamp_ns: float | None = None
    control: bool = False
    plain: bool = False
    off_cpu_ns: int = 0
    tier: str = ""
    op_stamps: Sequence[float] | None = None
    inside_ns: dict[int, int] = {}  # msgspec copies it

    def __post_init__(self) -> None:
        within = int(self.interval_ns.sum())
        self.steps = self.timed_steps if self.steps == UNKNOWN else self.steps
        self.span_ns = within if self.span_ns == UNKNOWN else self.span_ns
        self.entry_ns = self.span_ns - within if self.entry_ns == UNKNOWN else self.entry_ns

    @property
    def timed_steps(self) -> int:
        """Number of steps with a time."""
        return len(self.interval_ns) if self.covers is None else int(self.covers.sum())

    @property
    def step_ns(self) -> Times:
        """Nanoseconds a step of each interval, the average where it covers several: int64, shape (intervals,)."""
        if self.covers is None:
            return self.interval_ns
        rounded: Times = (self.interval_ns + self.covers // 2) // self.covers
        return rounded


# Counted runs of a loop: its key; their number; total steps, steps of the longest run; number of failed runs; total nanoseconds,
# -1 if unknown; and the tier of the outer loop's code if the runs were part of it, else "".
Run = tuple[int, int, int, int, int, int, str]


def together(runs: Iterable[Run]) -> list[Run]:
    """Sum runs by loop; runs of unknown time stay separate.

    Examples
    --------
    >>> together([(7, 1, 3, 3, 0, 40, ""), (8, 1, 1, 1, 1, 9, ""), (7, 1, 5, 5, 0, 50, "")])
    [(7, 2, 8, 5, 0, 90, ''), (8, 1, 1, 1, 1, 9, '')]
    """
    found: dict[tuple[int, str, bool], list[int]] = {}
    for loop, count, steps, longest, failed, ns, tier in runs:
        total = found.setdefault((loop, tier, ns < 0), [0, 0, 0, 0, 0])
        total[0] += count
        total[1] += steps
        total[2] = max(total[2], longest)
        total[3] += failed
        total[4] += ns
    return [
        (loop, count, steps, longest, failed, -1 if is_unknown else ns, tier)
        for (loop, tier, is_unknown), (count, steps, longest, failed, ns) in found.items()
    ]


# Every taking of a side is counted.  The first few are timed, with a stamp after each operation, then one in A_SAMPLE: so a rarely
# taken side is timed as well as one that every step takes.
FIRST = 16  # timed takings of a side before sampling begins
A_SAMPLE = 16  # then one in so many is timed
KEPT = 256  # latest timed takings whose times are kept
DISTANCES = 16  # distinct distances counted per side


class SideTaken:
    """Takings of one side of a branch.

    Attributes
    ----------
    branch : BranchInstruction
        The branch.
    side : int
        0 for the side where the condition holds, 1 for the other.
    taken : int
        Number of takings.
    rows : list of list of int
        Nanoseconds of each instruction of the side, for each of the last :data:`KEPT` timed takings.
    distances : Counter of int
        Distance between two takings of this side, in takings of the branch → number of occurrences.
    """

    __slots__ = ("branch", "distances", "last", "rows", "side", "taken")

    def __init__(self, branch: BranchInstruction, side: int) -> None:
        self.branch, self.side = branch, side
        self.taken = 0
        self.rows: deque[list[int]] = deque(maxlen=KEPT)
        self.distances: Counter[int] = Counter()
        self.last = -1

    def take(self, number: int) -> bool:
        """Count the taking with this number in the branch; return whether to time it."""
        self.taken += 1
        if self.last >= 0:
            distance = number - self.last
            if distance in self.distances or len(self.distances) < DISTANCES:
                self.distances[distance] += 1
        self.last = number
        return self.taken <= FIRST or not self.taken % A_SAMPLE

    def add(self, stamps: Sequence[int]) -> None:
        """Take the stamps before the first operation and after each."""
        self.rows.append([after - before for before, after in itertools.pairwise(stamps)])

    def merge(self, later: SideTaken) -> None:
        """Add the takings of a later call."""
        self.taken += later.taken
        self.rows.extend(later.rows)
        self.distances.update(later.distances)


class BranchTaken:
    """Both sides of a branch in one call of a function."""

    __slots__ = ("sides",)

    def __init__(self, branch: BranchInstruction) -> None:
        self.sides = (SideTaken(branch, 0), SideTaken(branch, 1))

    def take(self, side: int) -> SideTaken | None:
        """Count a taking of a side; return the side if this taking is timed, else None."""
        found, (one, other) = self.sides[side], self.sides
        return found if found.take(one.taken + other.taken) else None
