"""What rules did to a function's graph, as data: the graph as lines, what each application changed in them, and refusals.

A graph is written one operation a line, each with a name that it keeps from the first moment to the last, so lines that differ
between two moments are what changed.  Only the first graph is kept whole; each application keeps the lines that it replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from scanviz.record.graph import GraphSnapshot
from scanviz.record.graph_rows import graph_of_rows


@dataclass(frozen=True, slots=True)
class EditRecord:
    """Lines replaced by others.

    Attributes
    ----------
    start : int
        The first line that goes, counted from 0.
    stop : int
        The first line that stays.
    lines : tuple of str
        What stands in their place.
    """

    start: int
    stop: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphCostRecord:
    """What a graph costs, written in named sizes.

    Attributes
    ----------
    operations : str
        Operations run, those of a step as often as there are steps.
    flops : str
        Floating-point operations.
    bytes_moved : str
        Bytes read and written.
    buffer_bytes : str
        Bytes of the rows that loops keep.
    per_step : dict of str to int
        Loop (names from the outermost, with ``/``) → operations of one step; after an application, of loops where that
        changed.
    gone : tuple of str
        Loops that are there no more.
    """

    operations: str = "0"
    flops: str = "0"
    bytes_moved: str = "0"
    buffer_bytes: str = "0"
    per_step: dict[str, int] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteRecord:
    """One application of a rule.

    Attributes
    ----------
    index : int
        Its number, from 0.
    phase : str
        When it was applied.
    rule : str
        Its name.
    where : str
        File and line of the rule within scanviz.
    says : str
        What it did.
    count : int
        Matches.
    loops : tuple of str
        Loops in whose steps it matched.
    removed : int
        Operations that are gone.
    added : int
        Operations that are new.
    moved_out : tuple of str
        Operations that left a loop as they are, each with its loop.
    moved_in : tuple of str
        Operations that went into a loop as they are, each with its loop.
    loop_variables : tuple of str
        Loop variables that changed kind, appeared or went away, in words.
    time_ns : int
        What it took.
    cost : GraphCostRecord or None
        What the graph costs after it; None for rules about the program.
    difference : GraphCostRecord or None
        That, less what it cost before; without operations per step.
    edits : tuple of EditRecord
        What it changed in the graph's lines, from the last line to the first.
    row_edits : tuple of EditRecord
        What it changed in the graph's rows, likewise.
    """

    index: int
    phase: str
    rule: str
    where: str
    says: str
    count: int = 1
    loops: tuple[str, ...] = ()
    removed: int = 0
    added: int = 0
    moved_out: tuple[str, ...] = ()
    moved_in: tuple[str, ...] = ()
    loop_variables: tuple[str, ...] = ()
    time_ns: int = 0
    cost: GraphCostRecord | None = None
    difference: GraphCostRecord | None = None
    edits: tuple[EditRecord, ...] = ()
    row_edits: tuple[EditRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalRecord:
    """Where a rule did not fire, and why.

    Attributes
    ----------
    rule : str
        The rule.
    loop : str
        The loop in whose step it was asked; empty for the function's graph.
    node : str
        What it was asked about, in the user's names.
    source : str
        The user's line.
    why : str
        The precondition that failed.
    near : int
        How many held before it.
    """

    rule: str
    loop: str
    node: str
    source: str
    why: str
    near: int = 0


@dataclass(frozen=True, slots=True)
class OriginRecord:
    """Where an operation came from.

    Attributes
    ----------
    name : str
        The name of its line.
    op : str
        The operation.
    source : str
        The user's line, ``file:line``.
    rule : str
        The rule, or ``gradient``, that made it; empty if the user did.
    parents : tuple of str
        Names of what it was made from.
    """

    name: str
    op: str
    source: str = ""
    rule: str = ""
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """What a rule was measured to buy: a function without it beside the function as it is.

    Attributes
    ----------
    rule : str
        What was left out.
    ratio : float
        Time without it over time with it, the median of rounds: 2 says that the rule makes the function twice as fast.
    low : float
        Lower quartile of that ratio.
    high : float
        Upper quartile of that ratio.
    rounds : int
        How often both were run.
    with_ns : float
        Median time of a call with it.
    without_ns : float
        Median time of a call without it.
    with_bytes : int
        Peak memory of a call with it.
    without_bytes : int
        Peak memory of a call without it.
    """

    rule: str
    ratio: float
    low: float
    high: float
    rounds: int = 0
    with_ns: float = 0.0
    without_ns: float = 0.0
    with_bytes: int = 0
    without_bytes: int = 0

    def words(self) -> str:
        """Return it in a sentence.

        Examples
        --------
        >>> EffectRecord("PushOutDot1", 1.26, 1.24, 1.28, 50, 1e6, 1.26e6, 1000, 900).words()
        'measured: without it 1.26 times the time (quartiles 1.24 to 1.28, 50 rounds), 0.90 times the peak memory'
        """
        noise = ", which is noise" if self.low <= 1.0 <= self.high else ""
        memory = self.without_bytes / self.with_bytes if self.with_bytes else 1.0
        return (
            f"measured: without it {self.ratio:.2f} times the time (quartiles {self.low:.2f} to {self.high:.2f},"
            f" {self.rounds} rounds{noise}), {memory:.2f} times the peak memory"
        )


@dataclass(frozen=True, slots=True)
class RewritesRecord:
    """Everything that rules did to one function.

    Attributes
    ----------
    selection : str
        The rules that might be used, as ``Mode(rewrites=…)`` takes them.
    lines : tuple of str
        The graph as it was built; empty where there was room for the list of applications alone.
    cost : GraphCostRecord or None
        What that costs.
    applications : tuple of RewriteRecord
        In order.
    refusals : tuple of RefusalRecord
        Those that came nearest first.
    origins : tuple of OriginRecord
        Of every operation that there ever was, in order of first appearance.
    rows : tuple of str
        The graph as it was built as rows, each a JSON list, of which pictures are made; empty like ``lines``.
    texts : dict of str
        The users' lines of all rows: ``file:line`` → its text.
    effects : tuple of EffectRecord
        What rules were measured to buy, where ``scanviz rewrites --ablate --into`` put it here.
    """

    selection: str = "all"
    lines: tuple[str, ...] = ()
    cost: GraphCostRecord | None = None
    applications: tuple[RewriteRecord, ...] = ()
    refusals: tuple[RefusalRecord, ...] = ()
    origins: tuple[OriginRecord, ...] = ()
    rows: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    effects: tuple[EffectRecord, ...] = ()

    def effect(self, rule: str) -> EffectRecord | None:
        """Return what a rule was measured to buy; None where it was not."""
        return next((each for each in self.effects if each.rule == rule), None)

    def graph(self, after: int) -> tuple[str, ...]:
        """Return the lines of the graph after so many applications.

        Examples
        --------
        >>> edit = RewriteRecord(0, "canonical", "r", "f.py:1", "…", edits=(EditRecord(0, 1, ("b",)),))
        >>> RewritesRecord("all", ("a", "c"), None, (edit,)).graph(1)
        ('b', 'c')
        """
        return _edited(self.lines, (each.edits for each in self.applications[:after]))

    def snapshot(self, after: int) -> GraphSnapshot | None:
        """Return the graph after so many applications, for pictures; None where only the list was kept.

        Raises
        ------
        ScanvizValueError
            If the rows describe no graph.

        Examples
        --------
        >>> rows = ('[0,"v","x","x","x","float64 ()","input"]', '[0,"o",["x"],["y"],"f"]')
        >>> RewritesRecord(rows=rows).snapshot(0).output_names
        ('y',)
        """
        if not self.rows:
            return None
        rows = _edited(self.rows, (each.row_edits for each in self.applications[:after]))
        return graph_of_rows(rows, self.texts)

    def loops(self) -> tuple[str, ...]:
        """Return the names of all loops that there ever were, in order of first appearance; a name may hold a ``/``.

        Examples
        --------
        >>> RewritesRecord(cost=GraphCostRecord(per_step={"at a/b.py:1": 3, "at a/b.py:1/inner": 1})).loops()
        ('at a/b.py:1', 'inner')
        """
        costs = [self.cost, *(each.cost for each in self.applications)]
        paths = dict.fromkeys(path for cost in costs if cost is not None for path in cost.per_step)
        names = [
            path[max((len(each) + 1 for each in paths if path.startswith(f"{each}/")), default=0) :]
            for path in paths
        ]
        return tuple(dict.fromkeys(names))

    def list_alone(self) -> RewritesRecord:
        """Return what is kept where there is no room for graphs: which rules were applied, and what they say.

        Examples
        --------
        >>> edit = RewriteRecord(0, "canonical", "r", "f.py:1", "…", edits=(EditRecord(0, 1, ("b",)),))
        >>> small = RewritesRecord("all", ("a",), None, (edit,)).list_alone()
        >>> small.lines, small.applications[0].says, small.applications[0].edits
        ((), '…', ())
        """
        listed = (
            replace(
                each,
                moved_out=(),
                moved_in=(),
                loop_variables=(),
                cost=None,
                difference=None,
                edits=(),
                row_edits=(),
            )
            for each in self.applications
        )
        return RewritesRecord(self.selection, applications=tuple(listed))

    def steps(self, after: int) -> dict[str, int]:
        """Return the operations of one step of each loop after so many applications."""
        found = dict(self.cost.per_step) if self.cost is not None else {}
        for each in self.applications[:after]:
            if each.cost is not None:
                found.update(each.cost.per_step)
                for name in each.cost.gone:
                    found.pop(name, None)
        return found


def _edited(lines: Sequence[str], edits: Iterable[Sequence[EditRecord]]) -> tuple[str, ...]:
    found = list(lines)
    for together in edits:
        for each in together:
            found[each.start : each.stop] = each.lines
    return tuple(found)
