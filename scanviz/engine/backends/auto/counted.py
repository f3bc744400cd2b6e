"""What loops have cost so far on NumPy: each for the shapes it met, and all of a function together.

When that is enough for machine code is said in :mod:`scanviz.engine.backends.auto.loop`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from scanviz.engine.runtime.specialised import (
    CACHED,
    RUNS_LEFT,
    Allowance,
    Entry,
    Specialised,
    Tier,
    Write,
    WriteEntry,
)

if TYPE_CHECKING:
    from scanviz.engine.program.plan import Plan

FURTHER = 0.25  # of what pays for a loop alone pays for one more of a function: LLVM is loaded, and the other code is made
ALL = 2**62  # steps: no loop takes so many
LOOKED = 0.1  # of what pays is done before it is looked what left the loop: looking takes a millisecond


class Counted:
    """What the loops of one Program have cost so far: together, and for a Program of the function that suits machine code better.

    Attributes
    ----------
    is_open : bool
        Whether there is such a Program to be made.
    due : bool
        Whether it pays now.
    is_new : bool
        Whether there is, and nobody has asked yet what the first call will do.
    asks : bool
        Whether it is one or the other, as for few calls: that is one question for the others.
    foreseen : set of str
        Names of loops that were found to pay in the first call before it began, here or in another Program of the function.
    pays : bool
        Whether machine code pays for all loops: calls are many.
    left_ns : dict
        By a loop's name what its steps may still cost, where another Program of the function has counted before.
    before : dict
        By a loop's name the share of the work that pays which it did there.
    begun : dict
        By a loop's name NumPy's code of it, for the last few sets of shapes.
    loops : int
        How many there are.
    compiled : set of str
        Names of loops that have machine code.
    refused : set of str
        Names of loops of which there can be none.
    taken : dict
        By a loop's name, if it has a stop condition, how many steps its last runs on NumPy took.
    left_work : callable or None
        ``left_work(rules)``: by a loop's name how many nanoseconds a call takes, by estimate, for what rules moved out of the loop.
    foresee : callable or None
        ``foresee(inputs)``: look what a first call with such arrays will do, before it begins.
    rules : set of str
        Those that are left out of the Program to be made.
    """

    __slots__ = (
        "asks",
        "before",
        "begun",
        "compiled",
        "due",
        "foresee",
        "foreseen",
        "is_new",
        "is_open",
        "left_ns",
        "left_work",
        "loops",
        "pays",
        "refused",
        "rules",
        "taken",
    )

    def __init__(self) -> None:
        self.is_open = self.is_new = self.due = self.asks = self.pays = False
        self.foreseen: set[str] = set()
        self.loops = 0
        self.left_ns: dict[str, float] = {}
        self.before: dict[str, float] = {}
        self.begun: dict[str, list[Begun]] = {}
        self.compiled: set[str] = set()
        self.refused: set[str] = set()
        self.taken: dict[str, deque[int]] = {}
        self.left_work: Callable[[Collection[str]], dict[str, float]] | None = None
        self.foresee: Callable[[Sequence[Any]], None] | None = None
        self.rules: set[str] = set()

    def let(self, *, due: bool, is_new: bool = False) -> None:
        """Let the Program to be made be due or not, and the first call be one to ask about or not."""
        self.due, self.is_new, self.asks = due, is_new, due or is_new

    def open(self, rules: Collection[str]) -> None:
        """Count for a Program to be made, too, without some rules."""
        self.is_open, self.rules = True, set(rules)
        self.let(due=self.due, is_new=True)

    def decides_for(self, other: Counted) -> None:
        """Let another stand in the place of this, which has known of no loop: what the first call was found to do stays so."""
        other.let(due=self.due, is_new=self.is_new)
        other.foreseen = set(self.foreseen)
        if not (self.is_new or self.due):  # there can be no machine code
            other.close()

    def close(self) -> None:
        """Count for no other Program any more: what has paid for machine code is compiled here, or never is."""
        self.is_open = False
        self.let(due=False, is_new=self.is_new)

    @property
    def is_refused(self) -> bool:
        """Whether loops were to be compiled, and there can be machine code of none."""
        return bool(self.refused) and not self.compiled

    def left_of(self, name: str) -> float:
        """Return how many nanoseconds a call takes for what left a loop that machine code does inside."""
        if not self.is_open or self.left_work is None:
            return 0.0
        return self.left_work(self.rules).get(name, 0.0)

    def note(self, name: str, begun: Begun) -> None:
        """Count with NumPy's code of a loop from now on."""
        self.begun[name] = [*self.begun.get(name, ())[1 - CACHED :], begun]

    def have_done(self, name: str, share: float) -> bool:
        """Return whether a loop that has done a share of the work that pays, and the others as much or less, pay together.

        Shapes that are seldom met do little of it, so they stay on NumPy however much others have done.
        """
        if share >= FURTHER and self.compiled:
            return True
        others = {*self.before, *self.begun} - {name}
        return share + sum(min(self._share(other), share) for other in others) >= 1

    def _share(self, name: str) -> float:
        """Return how much of the work that pays a loop has done, for the shapes that have done most."""
        if name in self.compiled:
            return 1.0
        begun = self.begun.get(name, ())
        return max((run.share(run.left_ns) for run in begun), default=self.before.get(name, 0.0))

    def spent_ns(self) -> float:
        """Return what the steps so far cost by estimate; infinity where some loop is machine code, or cannot be."""
        if self.compiled:
            return inf
        met = list(self.begun.values())  # another thread may meet one more loop now
        return sum(abs(max(run.pays_after_ns - run.left_ns for run in made)) for made in met)

    def all_pay(self) -> None:
        """Let machine code pay for all loops: each run is looked at."""
        self.pays = True
        for made in list(self.begun.values()):
            for run in made:
                run.look_at_each()

    def go_on_in(self, other: Counted) -> None:
        """Let the other Program's loops count from where these are; those that will be machine code soon are so at once."""
        other.left_ns = {name: min(loop.left_ns for loop in made) for name, made in list(self.begun.items())}
        other.foreseen = set(self.foreseen)
        other.left_ns.update(dict.fromkeys(self.compiled | self.foreseen, 0.0))
        shares = {name: self._share(name) for name in other.left_ns}
        other.left_ns.update((name, 0.0) for name, share in shares.items() if share >= FURTHER)
        other.before = {name: 1.0 if share >= FURTHER else share for name, share in shares.items()}


class Begun(Specialised):
    """NumPy's code for one set of shapes, and how much its steps have cost.

    From what they cost follows for how many steps nothing can be due.  Runs of these only count them down (:class:`Allowance`):
    to reckon takes a part of a short one.

    Attributes
    ----------
    step_ns : float
        What a step costs by estimate that machine code saves.
    pays_after_ns : float
        What its steps may cost in all.
    alone_ns : float
        And what pays for compiling it alone, as it is: the function is not rewritten for that.
    least_ns : float
        As long as more than that is left machine code does not pay, whatever other loops have done.
    quiet_ns : float
        As long as more than that is left runs are only counted.
    is_known : bool
        Whether what left the loop is part of what a step costs.
    was_met : bool
        Whether it has run.
    unknown_steps : int or None
        How many steps it took before it was estimated what a step costs; None where that is known.
    short_steps : float
        It is not estimated before so many steps.
    """

    __slots__ = (
        "_allowed", "_left_ns", "allowance", "alone_ns", "is_known", "least_ns", "pays_after_ns", "quiet_ns", "short_steps",
        "step_ns", "unknown_steps", "was_met",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, tier: Tier, write: Write, left_ns: float, pays_after_ns: float, least_ns: float
    ) -> None:
        super().__init__(plan, tier, write)
        self.allowance, self._allowed = Allowance(), 0
        self.unknown_steps: int | None = 0
        self.left_ns, self.step_ns, self.pays_after_ns, self.least_ns = left_ns, 0.0, pays_after_ns, least_ns
        self.alone_ns = pays_after_ns
        self.quiet_ns, self.is_known, self.was_met = inf, True, False
        self.short_steps = 0.0

    @property
    def left_ns(self) -> float:
        """What its steps may still cost until machine code pays."""
        return self._left_ns - (self._allowed - self.allowance.steps) * self.step_ns

    @left_ns.setter
    def left_ns(self, left_ns: float) -> None:
        unknown = self.unknown_steps  # read once: another thread may find out now what a step costs
        if unknown is not None:
            self.unknown_steps = unknown + self._allowed - self.allowance.steps
        self._left_ns, self._allowed, self.allowance.steps = left_ns, 0, 0

    def allow(self) -> None:
        """Let steps be only counted as long as nothing can be due."""
        left = self.left_ns = self.left_ns
        unknown = self.unknown_steps
        if unknown is not None:
            most = self.short_steps - unknown
        else:
            most = ALL if left == inf else (left - self.quiet_ns) / self.step_ns
        self._allowed = self.allowance.steps = max(0, int(most))

    def is_early(self, steps: int) -> bool:
        """Return whether a run of so many steps is too early to estimate what one costs; then they are counted."""
        self.left_ns = self.left_ns  # those before are
        unknown = self.unknown_steps
        if unknown is not None and unknown + RUNS_LEFT * steps < self.short_steps:
            self.unknown_steps = unknown + steps
            return True
        return False

    def look_at_each(self) -> None:
        """Allow no more steps that are only counted."""
        self.left_ns, self.short_steps = self.left_ns, 0.0
        self.entry, self.runs = None, 0  # another is written

    def made_entry(self, write: WriteEntry) -> Entry | None:
        """Return what runs the loop without an arena, as long as its steps are only to be counted."""
        return write(self.plan, self.allowance)

    def costs(self, step_ns: float) -> None:
        """Let a step cost so much, and the steps that were done, too."""
        self.left_ns = self.left_ns  # all steps are counted
        done = self.unknown_steps or 0
        self.step_ns, self.quiet_ns = step_ns, self.least_ns
        self.unknown_steps = None  # after that other threads reckon with it
        self.left_ns -= done * step_ns
        self._forecast(self.left_ns)

    def _forecast(self, left_ns: float) -> None:
        """Say after how many steps machine code pays."""
        if left_ns < inf:
            steps = max(1, round(left_ns / self.step_ns))
            self.why = f"generated for the shapes met; machine code pays after about {steps:,} steps"

    def look_after(self, outside_ns: float) -> None:
        """Let it be looked what left the loop when that counts: it may take so many nanoseconds a step."""
        done = LOOKED * self.pays_after_ns * self.step_ns / (self.step_ns + outside_ns)
        self.quiet_ns, self.is_known = max(self.least_ns, self.pays_after_ns - done), False

    def add(self, left_ns: float, steps: int) -> None:
        """Let steps cost what is done outside for them, too, in a run of so many: also those that were done."""
        self.is_known, self.quiet_ns = True, self.least_ns
        before, self.step_ns = self.step_ns, self.step_ns + left_ns / max(1, steps)
        if left_ns and self.left_ns < inf:
            self.left_ns = self.pays_after_ns - (self.pays_after_ns - self.left_ns) * self.step_ns / before
            self._forecast(self.pays_after_ns)

    def share(self, left_ns: float) -> float:
        """Return how much of the work that pays for machine code is done where so much is left; none where there can be none."""
        if left_ns == inf:
            return 0.0
        return 1 - left_ns / self.pays_after_ns if self.pays_after_ns else 1.0

    def stay(self, why: str) -> None:
        """Note that there can be no machine code, and why."""
        self.left_ns, self.why = inf, why


__all__ = ["FURTHER", "Begun", "Counted"]
