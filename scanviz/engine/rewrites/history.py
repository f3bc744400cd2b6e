"""RewriteHistory: every application of a rule to a function's graph, and the graph at any version.

The history keeps the graph at the beginning and one line per application.  Rules are deterministic and take node ids of their
own run.  So a second run, on demand, finds the graph after any application, all refusals with their reasons, and the cost or
saving of each application.  A function without such a demand pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, overload

from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizIndexError
from scanviz.engine.graph.nodes import Apply, Variable, next_run, node_ids_of
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.level import NUMPY, Refused, TargetTier
from scanviz.engine.rewrites.pipeline import Application, Swept, sweeps
from scanviz.engine.rewrites.selection import Selection

if TYPE_CHECKING:
    from scanviz.engine.rewrites.cost import Cost, Meanings
    from scanviz.engine.rewrites.versions import Change, Delta, Move


class Record(Application, frozen=True, kw_only=True):
    """One application and its effect on the graph, found on demand.

    Attributes
    ----------
    history : RewriteHistory
        The history of the function.
    """

    history: RewriteHistory

    @property
    def change(self) -> Change:
        """Operations and loop variables that are gone, new or elsewhere."""
        return self.history.change(self.index)

    @property
    def removed(self) -> tuple[str, ...]:
        """Operations that are gone."""
        return self.change.removed

    @property
    def added(self) -> tuple[str, ...]:
        """Operations that are new."""
        return self.change.added

    @property
    def loop_variables(self) -> tuple[Move, ...]:
        """Loop variables that changed kind, appeared or went away."""
        return self.change.loop_variables

    @property
    def cost_before(self) -> Cost:
        """The cost of the graph before it."""
        return self.history.costs()[min(self.index, len(self.history.costs()) - 1)]

    @property
    def cost_after(self) -> Cost:
        """The cost of the graph after it."""
        return self.history.costs()[min(self.index + 1, len(self.history.costs()) - 1)]


class Version(NamedTuple):
    """A graph as its changes from the version before; the first is all new.

    Attributes
    ----------
    record : Record or None
        The application that gave it; None for the graph as it was built.
    delta : Delta
        The nodes that changed.
    cost : Cost
        Its cost.
    change : Change
        The change, in words.
    occurrences : mapping of Apply to int
        Position of an Apply among the nodes with its node id.
    meanings : dict
        Meanings of the names of sizes in costs; it grows from version to version.
    """

    record: Record | None
    delta: Delta
    cost: Cost
    change: Change
    occurrences: Mapping[Apply, int]
    meanings: Meanings


class _Replay(Struct, frozen=True, eq=False):
    """A second application of the rules: the result of each sweep, and the refusals."""

    sweeps: list[Swept]
    refused: list[Refused]


class RewriteHistory(Sequence[Record]):
    """The applications of rules to one function's graph, in order.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph as it was built.
    selection : Selection
        Rules that may be used.
    checked : set of Apply, optional
        Filled with the nodes whose types were found to hold.
    target : TargetTier
        The tier that will run the graph.
    keeps : bool
        Whether what rules do and refuse is kept for :meth:`alone`: an observer will ask, and they need not be applied again.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="total")
    >>> f = scanviz.function([x], h[-1])
    >>> [(step.rule, step.message) for step in f.rewrites if step.rule == "ScanSaveMem"]
    [('ScanSaveMem', '`h` keeps only its last row')]
    """

    def __init__(
        self,
        outputs: Sequence[Variable],
        selection: Selection,
        checked: set[Apply] | None = None,
        target: TargetTier = NUMPY,
        keeps: bool = False,
    ) -> None:
        self.target = target
        self._start, self.selection, self._run = list(outputs), selection, next_run()
        self._entries: list[Record] = []
        self._changes: list[Change] | None = None
        self._costs: list[Cost] | None = None
        self.of_program: list[Application] = []  # applications to the Program when it was made
        self.planned: Callable[[], list[Application]] = list  # those for the shapes met, found when asked for
        self.refused_plans: Callable[[], list[Refused]] = list
        self._final = list(outputs)
        self._kept = _Replay([], []) if keeps else None
        refused = None if self._kept is None else self._kept.refused
        with node_ids_of(self._run):
            for sweep in sweeps(self._start, selection, refused, checked=checked, target=self.target):
                self._entries += [self._record(entry) for entry, _ in sweep]
                self._final = sweep[-1][1].graph()
                if self._kept is not None:
                    self._kept.sweeps.append(sweep)

    def _copied(self) -> RewriteHistory:
        found = copy(self)
        found._entries = [replace(entry, history=found) for entry in self._entries]
        return found

    def alone(self) -> RewriteHistory:
        """Return the history without plans, which belong to the compiled function and refer to it.

        It takes over the kept sweeps and refusals.
        """
        found = self._copied()
        found.planned, found.refused_plans, self._kept = list, list, None
        return found

    def kept(self) -> RewriteHistory:
        """Return the same history with all that rules did and refused, for several questions: they are applied once."""
        found = self._copied()
        found._kept = self._replayed()
        return found

    @property
    def final(self) -> list[Variable]:
        """The graph after all applications."""
        return list(self._final)

    @property
    def before(self) -> list[Variable]:
        """The graph before any."""
        return list(self._start)

    def _record(self, entry: Application, index: int | None = None) -> Record:
        given = {name: getattr(entry, name) for name in Application.__struct_fields__}
        if index is not None:
            given["index"] = index
        return Record(**given, history=self)

    def _all(self) -> list[Record]:
        count = len(self._entries)
        more = [*self.of_program, *self.planned()]
        return [*self._entries, *(self._record(application, count + k) for k, application in enumerate(more))]

    def change(self, index: int) -> Change:
        """Return what one application did to the graph; one to the Program leaves it as it is."""
        from scanviz.engine.rewrites.versions import Change  # when somebody looks

        if self._changes is None:
            self._changes = [version.change for version in self.versions()][1:]
        return self._changes[index] if index < len(self._changes) else Change((), (), (), (), ())

    def costs(self) -> list[Cost]:
        """Return the cost of the graph as it was built, and after each application to it."""
        if self._costs is None:
            self._costs = [version.cost for version in self.versions()]
        return self._costs

    def versions(self) -> Iterator[Version]:
        """Iterate over the graph as built and after each application, as changes."""
        from scanviz.engine.rewrites.cost import Scope
        from scanviz.engine.rewrites.versions import Changes, Versions

        versions, changes, scope = Versions(), Changes(), Scope()
        for record, outputs in zip([None, *self._entries], self.all_graphs(), strict=True):
            nodes = toposort(outputs)
            delta = versions.become(nodes, outputs)
            cost, change = scope.total(nodes), changes.become(delta)
            yield Version(record, delta, cost, change, versions.occurrences, scope.meanings)

    @property
    def of_graph(self) -> list[Record]:
        """The applications to the graph, without those to the Program."""
        return list(self._entries)

    def graph(self, after: int) -> list[Variable]:
        """Return the graph after k applications: 0 gives the graph as built.

        Raises
        ------
        ScanvizIndexError
            If there were not so many.
        """
        if not 0 <= after <= len(self):
            raise ScanvizIndexError(
                f"the function has no graph after {after} rewrites",
                expected=f"from 0 to {len(self)}",
                found=after,
            )
        if after == 0:
            return self.before
        if after >= len(self._entries):
            return self.final
        return self._replay(after)

    def _replay(self, after: int) -> list[Variable]:
        with node_ids_of(self._run):
            for sweep in self._again():
                for entry, applied in sweep:
                    if entry.index + 1 == after:
                        return applied.graph()
        return self.final

    def _replayed(self) -> _Replay:
        """Return the kept sweeps and refusals, or apply the rules once more."""
        kept = self._kept
        if kept is not None:
            return kept
        refused: list[Refused] = []
        with node_ids_of(self._run):
            return _Replay(list(self._again(refused)), refused)

    def _again(self, refused: list[Refused] | None = None) -> Iterator[Swept]:
        """Return a function that applies the rules once more."""
        return sweeps(self._start, self.selection, refused, replaying=True, target=self.target)

    def all_graphs(self) -> list[list[Variable]]:
        """Return the graph as it was built, and the graph after each application to it."""
        return [self.before, *(applied.graph() for sweep in self._replayed().sweeps for _, applied in sweep)]

    def refusals(self, rule: str | None = None) -> list[Refused]:
        """Return where rules refused, those that came nearest first; of one rule if it is named."""
        found = self._replayed().refused
        latest = {(entry.rule, entry.path, entry.node_id): entry for entry in found}
        refused = [*latest.values(), *self.refused_plans()]
        wanted = [entry for entry in refused if rule is None or entry.rule == rule]
        return sorted(wanted, key=lambda entry: -entry.preconditions_met)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._entries) + len(self.of_program) + len(self.planned())

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all())

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites, by {len({record.rule for record in self})} rules>"
