"""The order of phases and rules: rounds of phases until none changes the graph, and how far a run of rewrites has come."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from msgspec import Struct, field

from scanviz.engine.graph.equality import Numbers
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.levels import Levels
from scanviz.engine.rewrites.rule import Phase, Rule
from scanviz.engine.rewrites.selection import Selection

ROUND: tuple[Phase, ...] = ("canonical", "loops", "simplify", "merge", "clean")
ROUNDS_BEFORE_LOOKING = 6  # before graphs are compared with those after earlier rounds
MOST_ROUNDS = 100


class Rounds:
    """The phases in the order in which they have their turn, found as rules fire.

    Attributes
    ----------
    ended : int
        How many rounds have ended.
    fired : list of str
        The rules that fired, in order.

    Examples
    --------
    >>> rounds = Rounds()
    >>> print(*rounds)
    gradient canonical loops simplify merge clean keep
    """

    __slots__ = ("_changed", "_latest", "_seen", "_stopped", "ended", "fired")

    def __init__(self) -> None:
        self._changed, self._stopped = True, False
        self._latest: Phase | None = None
        self._seen: dict[Hashable, int] = {}
        self.ended = 0
        self.fired: list[str] = []

    def __iter__(self) -> Rounds:
        return self

    def __next__(self) -> Phase:
        latest = self._latest
        if latest is None:
            self._latest = "gradient"
        elif latest in ROUND[:-1]:
            self._latest = ROUND[ROUND.index(latest) + 1]
        else:
            self.ended += latest == ROUND[-1]
            if self._changed and not self._stopped:
                self._changed, self._latest = False, ROUND[0]
            elif latest == "keep":
                raise StopIteration
            else:
                self._latest = "keep"
        return self._latest

    def note(self, rule: Rule) -> None:
        """Note that a rule changed something; what it says of memory alone opens nothing to others."""
        self.fired.append(rule.name)
        self._changed = self._changed or "memory" not in rule.tags

    def stop(self) -> None:
        """Begin no other round: rules undo one another."""
        self._stopped = True

    def fired_since(self, print_of: Callable[[], Hashable]) -> list[str]:
        """Return the rules that fired since a round before this one ended with the same graph, after some rounds; else none.

        Parameters
        ----------
        print_of : callable
            Gives what equal graphs share.
        """
        if self.ended < ROUNDS_BEFORE_LOOKING or not self._changed:
            return []
        known = self._seen.setdefault(print_of(), len(self.fired))
        return self.fired[known if self.ended < MOST_ROUNDS else -10 :]


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
