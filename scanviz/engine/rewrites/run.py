"""How far a run of rewrites has come: which phase and which rule have their turn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, field

from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import Variable
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
    levels: Levels = field(default_factory=Levels)
    rounds: Rounds = field(default_factory=Rounds)
    numbers: Numbers = field(default_factory=Numbers)

    def next_turns(self, selection: Selection) -> RuleTurns | None:
        """Go on to the rules of the next phase, None after the last."""
        from scanviz.engine.rewrites.families import rules_of  # when it is used: it imports files of rules

        phase = next(self.rounds, None)
        if phase is None:
            return None
        rules = [rule for rule in rules_of(phase) if selection.has(rule)]
        self.turns, self.begun_at = RuleTurns(phase, rules), self.index
        return self.turns

    def print_of(self, outputs: Sequence[Variable]) -> Hashable:
        """Return what equal graphs share."""
        return tuple(map(self.numbers.of, outputs))


__all__ = ["RewriteRun", "RuleTurns"]
