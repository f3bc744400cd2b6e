"""How far a run of rewrites has come: which phase and which rule have their turn, and where two runs part.

Runs over one graph that differ in some rules alone do the same until one of these rules does something.  There a copy of the run
is kept, from which another goes on without them: what both do is done once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from msgspec import Struct, field

from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import RunState, Variable, run_state
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.rounds import Rounds
from scanviz.engine.rewrites.rule import Phase, Rule
from scanviz.engine.rewrites.rule_pass import Levels
from scanviz.engine.rewrites.selection import Selection


class RuleTurns(Struct):
    """The rules of a phase in turn.

    Attributes
    ----------
    phase : str
        Which.
    rules : list
        Its rules that are selected, in their order.
    position, changes, quiet : int
        How many turns there were, how many sweeps changed something, and how many rules in a row did nothing.
    seen : dict
        By what equal graphs share, after how many changes there was such a graph.
    fired : list of str
        Rules that changed something, in order.
    """

    phase: Phase
    rules: list[Rule]
    position: int = 0
    changes: int = 0
    quiet: int = 0
    seen: dict[Hashable, int] = field(default_factory=dict)
    fired: list[str] = field(default_factory=list)

    def copied(self) -> RuleTurns:
        """Return the same, which goes on by itself."""
        return RuleTurns(
            self.phase,
            list(self.rules),
            self.position,
            self.changes,
            self.quiet,
            dict(self.seen),
            list(self.fired),
        )


class RewriteRun(Struct):
    """A run of rewrites, as far as it has come.

    Attributes
    ----------
    current : list of Variable
        The graph.
    replaying : bool
        Whether the same was done before.
    refused : dict or None
        Phase and rule → what it refused when it was asked last, where that is wanted.
    turns : RuleTurns or None
        The phase that has its turn; None before the first.
    begun_at : int
        How many applications there were before it.
    index : int
        How many there are now.
    left_out : frozenset of str
        Rules that are not asked any more.
    levels : Levels
        Where rules were asked; what did nothing in one phase does nothing in another, as long as the graph is the same.
    rounds : Rounds
        Which phase has its turn.
    numbers : Numbers
        Equal graphs have equal ones, names and node ids left aside.
    """

    current: list[Variable]
    replaying: bool = False
    refused: dict[tuple[Phase, str], list[Refused]] | None = None
    turns: RuleTurns | None = None
    begun_at: int = 0
    index: int = 0
    left_out: frozenset[str] = frozenset()
    levels: Levels = field(default_factory=Levels)
    rounds: Rounds = field(default_factory=Rounds)
    numbers: Numbers = field(default_factory=Numbers)

    def copied(self) -> RewriteRun:
        """Return the same, which goes on by itself."""
        return RewriteRun(
            list(self.current),
            self.replaying,
            None if self.refused is None else dict(self.refused),
            None if self.turns is None else self.turns.copied(),
            self.begun_at,
            self.index,
            self.left_out,
            self.levels.copied(),
            self.rounds.copied(),
            self.numbers.copied(),
        )

    def next_turns(self, selection: Selection) -> RuleTurns | None:
        """Go on to the rules of the next phase, None after the last."""
        from scanviz.engine.rewrites.families import rules_of  # when it is used: it imports files of rules

        phase = next(self.rounds, None)
        if phase is None:
            return None
        rules = [rule for rule in rules_of(phase) if selection.has(rule) and rule.name not in self.left_out]
        self.turns, self.begun_at = RuleTurns(phase, rules), self.index
        return self.turns

    def print_of(self, outputs: Sequence[Variable]) -> Hashable:
        """Return what equal graphs share."""
        return tuple(map(self.numbers.of, outputs))


class Stage(Struct, frozen=True, eq=False):
    """A run at the place where another parts from it, the other's way.

    Attributes
    ----------
    run : RewriteRun
        The run.
    ids : RunState
        The node ids that come next.
    rule : str
        The rule with which the first goes on.
    """

    run: RewriteRun
    ids: RunState
    rule: str


class Parting:
    """Some rules, with which one run goes on, and without which another does, from where one of them does something first.

    Parameters
    ----------
    rules : collection of str
        Their names.
    is_without : bool
        Whether this run is the one without them.
    pauses : bool
        Whether this one waits where the other begins: it gives a sweep of nothing there, once.

    Attributes
    ----------
    stage : Stage or None
        Where the other one begins, once this one has come there.
    """

    __slots__ = ("is_without", "pauses", "rules", "stage")

    def __init__(self, rules: Collection[str], is_without: bool = False, pauses: bool = False) -> None:
        self.rules, self.is_without, self.pauses = frozenset(rules), is_without, pauses
        self.stage: Stage | None = None

    def leaves_out(self, rule: Rule, run: RewriteRun) -> bool:
        """Return whether a rule that was found to do something does nothing here; where runs part, note where the other begins."""
        if rule.name not in self.rules:
            return False
        if self.is_without:
            run.left_out = self.rules
        elif self.stage is None and (ids := run_state()) is not None:
            other = run.copied()
            other.left_out = self.rules
            if other.turns is not None:
                other.turns.quiet += 1  # the rule has had its turn
            self.stage = Stage(other, ids, rule.name)
        return self.is_without


__all__ = ["Parting", "RewriteRun", "RuleTurns", "Stage"]
