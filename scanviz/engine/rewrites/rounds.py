"""Which phase of rewrites has its turn: all in order, and again while one of them does something that others look at.

What late phases do may give rules of early ones something to do: merged loops have inputs in common, a loop of fewer steps is
read at other rows.  So the phases between the gradient's and ``keep`` are gone through until a round changes nothing, then
``keep`` says which rows stay, and all begins again if it did more than that.  A pipeline run over its own result changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from scanviz.engine.rewrites.rule import Phase, Rule

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
