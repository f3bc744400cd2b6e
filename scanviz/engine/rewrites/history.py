"""RewriteHistory: every application of a rule to a function's graph, and the graph at any moment.

What is kept is the graph at the beginning and one line an application.  Rules are deterministic and take birth ids of their
own run, so the graph after any application, what was refused and why, and what each application cost or saved are found by
doing it again when someone asks: a function that nobody asks pays nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, overload

from scanviz.engine.errors import ScanvizIndexError
from scanviz.engine.graph.nodes import Apply, Variable, births_of, describe, next_run
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.pipeline import Application, applications
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.rewrites.sweep import Refused
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import LoopVariable, kind_of

if TYPE_CHECKING:
    from scanviz.engine.rewrites.cost import Cost

Place = tuple[tuple[str, ...], Apply]


@dataclass(frozen=True, slots=True)
class Move:
    """A loop variable that changed kind, appeared or went away.

    Attributes
    ----------
    loop, variable : str
        Names.
    before, after : str or None
        Kinds, such as ``"sitsot"``; None where it was not there.
    """

    loop: str
    variable: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"`{self.variable}` joins `{self.loop}` as {self.after}"
        if self.after is None:
            return f"`{self.variable}` ({self.before}) leaves `{self.loop}`"
        return f"`{self.variable}` of `{self.loop}`: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Change:
    """What an application did to the graph, node by node.

    Attributes
    ----------
    removed, added : tuple of str
        Operations that are gone, and those that are new, each with its loop.
    moved_out, moved_in : tuple of str
        Operations that left a loop for the graph around it, or went into one.
    loop_variables : tuple of Move
        Loop variables that changed kind, appeared or went away.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    moved_out: tuple[str, ...]
    moved_in: tuple[str, ...]
    loop_variables: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Record(Application):
    """One application, with what it did to the graph, found when it is asked for.

    Attributes
    ----------
    history : RewriteHistory
        What it belongs to.
    """

    history: RewriteHistory = field(repr=False, compare=False, kw_only=True)

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
        """What the graph cost before it."""
        return self.history.costs()[self.index]

    @property
    def cost_after(self) -> Cost:
        """What the graph costs after it."""
        return self.history.costs()[min(self.index + 1, len(self.history.costs()) - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class _Replay:
    """The rules applied once more: the graph as it was built and after each application, and what was refused."""

    graphs: list[list[Variable]]
    refused: list[Refused]


class RewriteHistory(Sequence[Record]):
    """The applications of rules to one function's graph, in order.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph as it was built.
    selection : Selection
        Rules that may be used.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="total")
    >>> f = scanviz.function([x], h[-1])
    >>> [(each.rule, each.says) for each in f.rewrites if each.rule == "ScanSaveMem"]
    [('ScanSaveMem', '`h` keeps only its last row')]
    """

    def __init__(self, outputs: Sequence[Variable], selection: Selection) -> None:
        self._start, self.selection, self._run = list(outputs), selection, next_run()
        self._entries: list[Record] = []
        self._changes: list[Change] | None = None
        self._costs: list[Cost] | None = None
        self._held: list[_Replay] = []  # by those who hold it now, in whatever thread
        self.more: Callable[[], list[Application]] = list  # applications to the Program, found when asked for
        final: Callable[[], list[Variable]] = self._start.copy
        with births_of(self._run):
            for entry, final in applications(self._start, selection):  # noqa: B007  # the last is wanted
                self._entries.append(self._record(entry))
            self._final = final()

    @property
    def final(self) -> list[Variable]:
        """The graph after all applications."""
        return list(self._final)

    @property
    def before(self) -> list[Variable]:
        """The graph before any."""
        return list(self._start)

    def _record(self, entry: Application, index: int | None = None) -> Record:
        given = {each.name: getattr(entry, each.name) for each in fields(Application)}
        if index is not None:
            given["index"] = index
        return Record(**given, history=self)

    def _all(self) -> list[Record]:
        count = len(self._entries)
        return [*self._entries, *(self._record(each, count + k) for k, each in enumerate(self.more()))]

    def change(self, index: int) -> Change:
        """Return what one application did to the graph; one to the Program leaves it as it is."""
        if self._changes is None:
            graphs = self.all_graphs()
            self._changes = [change(*pair) for pair in itertools.pairwise(graphs)]
        return self._changes[index] if index < len(self._changes) else Change((), (), (), (), ())

    def costs(self) -> list[Cost]:
        """Return the cost of the graph as it was built, and after each application to it."""
        if self._costs is None:
            from scanviz.engine.rewrites.cost_history import costs_of_graphs

            self._costs = costs_of_graphs(self.all_graphs())
        return self._costs

    @property
    def of_graph(self) -> list[Record]:
        """The applications to the graph, without those to the Program."""
        return list(self._entries)

    def graph(self, after: int) -> list[Variable]:
        """Return the graph after so many applications: 0 gives the graph as it was built.

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
        with births_of(self._run):
            for entry, graph in applications(self._start, self.selection):
                if entry.index + 1 == after:
                    return graph()
        return self.final

    def all_graphs(self) -> list[list[Variable]]:
        """Return the graph as it was built, and the graph after each application to it."""
        for replay in self._held[-1:]:
            return replay.graphs
        with births_of(self._run):
            return [self.before, *(graph() for _, graph in applications(self._start, self.selection))]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all graphs and refusals in the block, for several questions about them: the rules are applied once."""
        refused: list[Refused] = []
        with births_of(self._run):
            graphs = [graph() for _, graph in applications(self._start, self.selection, refused)]
        replay = _Replay([self.before, *graphs], refused)
        self._held.append(replay)
        try:
            yield
        finally:
            self._held.remove(replay)

    def refusals(self, rule: str | None = None) -> list[Refused]:
        """Return where rules refused, those that came nearest first; of one rule if it is named."""
        found: list[Refused] = []
        held = self._held[-1:]  # read once: another thread may let go of what it held
        if held:
            found = held[0].refused
        else:
            with births_of(self._run):
                for _ in applications(self._start, self.selection, found):
                    pass
        latest = {(each.rule, each.path, each.birth): each for each in found}
        wanted = [each for each in latest.values() if rule is None or each.rule == rule]
        return sorted(wanted, key=lambda each: -each.near)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._entries) + len(self.more())

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all())

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites, by {len({each.rule for each in self})} rules>"


def places(outputs: Sequence[Variable], path: tuple[str, ...] = ()) -> dict[int, Place]:
    """Return all nodes of a graph and of the steps of its loops: birth id → loops around it, and the node."""
    found: dict[int, Place] = {}
    for node in toposort(outputs):
        found.setdefault(node.birth, (path, node))
        if isinstance(node.op, Scan):
            for birth, place in places(node.op.inner_outputs, (*path, node.op.scan_name)).items():
                found.setdefault(birth, place)
    return found


def change(before: Sequence[Variable], after: Sequence[Variable]) -> Change:
    """Return what is different between two graphs of which one was made from the other."""
    old, new = places(before), places(after)
    both = [birth for birth in old if birth in new]
    return Change(
        tuple(_described(old[each]) for each in old if each not in new),
        tuple(_described(new[each]) for each in new if each not in old),
        tuple(_described(old[each]) for each in both if len(new[each][0]) < len(old[each][0])),
        tuple(_described(new[each]) for each in both if len(new[each][0]) > len(old[each][0])),
        tuple(_moves(old, new)),
    )


def _described(place: Place) -> str:
    path, node = place
    name = describe(node.outputs[0])
    return f"{name} in `{path[-1]}`" if path else name


def _moves(old: dict[int, Place], new: dict[int, Place]) -> Iterator[Move]:
    for birth, (_, node) in old.items():
        if not isinstance(node.op, Scan) or birth not in new:
            continue
        other = new[birth][1].op
        if not isinstance(other, Scan) or other is node.op:
            continue
        before, after = _kinds(node.op), _kinds(other)
        for name in [*before, *(each for each in after if each not in before)]:
            if before.get(name) != after.get(name):
                yield Move(other.scan_name, name, before.get(name), after.get(name))


def _kinds(op: Scan) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in op.variables:
        found.setdefault(_label(each), _kind_and_rows(each))
    return found


def _label(variable: LoopVariable) -> str:
    tap = getattr(variable, "tap", 0)
    return f"{variable.name}[t{tap:+d}]" if tap else variable.name


def _kind_and_rows(variable: LoopVariable) -> str:
    keep = getattr(variable, "keep", None)
    rows = f", last {keep.last}" if keep is not None and keep.last is not None else ""
    return kind_of(variable) + rows
