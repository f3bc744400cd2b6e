"""A function's rewrites as data: versions of its graph, effects of each rewrite, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from scanviz.engine.strict import Strict
from scanviz.record.costs import CostNumbersRecord, GraphCostRecord, StepNumbersRecord
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.graphs.lines import LineEdit, edits_of_versions, version_lines
from scanviz.record.graphs.reading import snapshot_of
from scanviz.record.graphs.versions import VersionsRecord
from scanviz.record.storage.codec import encode


class RewriteRecord(Strict, frozen=True):
    """One application of a rule.

    Attributes
    ----------
    index : int
        Its number, from 0.
    phase : str
        The phase of its application.
    rule : str
        Its name.
    where : str
        File and line of the rule within scanviz.
    message : str
        Its effect in words.
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
        Its time.
    cost : GraphCostRecord or None
        Cost of the graph after it; None for rules about the program.
    difference : GraphCostRecord or None
        Its change of the cost; without operations per step.
    """

    index: int
    phase: str
    rule: str
    where: str
    message: str
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


class RefusalRecord(Strict, frozen=True):
    """A node at which a rule did not fire, and the reason.

    Attributes
    ----------
    rule : str
        The rule.
    loop : str
        The loop in whose step it was asked; empty for the function's graph.
    node : str
        The node that it was asked about, in the user's names.
    source : str
        The user's line.
    why : str
        The precondition that failed.
    preconditions_met : int
        Number of preconditions that held before it.
    """

    rule: str
    loop: str
    node: str
    source: str
    why: str
    preconditions_met: int = 0


class OriginRecord(Struct, frozen=True):
    """The origin of an operation.

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
        Names of the operations that it was made from.
    """

    name: str
    op: str
    source: str = ""
    rule: str = ""
    parents: tuple[str, ...] = ()


SLOWER, LARGER = 1.3, 1.5  # times as long, and times the peak memory, that a rule may make a program at most
NOTICED_BYTES = 16 << 20  # of peak memory: less is little beside a process that has imported NumPy


class EffectRecord(Strict, frozen=True):
    """Measured effect of a rule: the function without the rule compared with the function as it is.

    Attributes
    ----------
    rule : str
        The rule that was left out.
    ratio : float
        Time without it over time with it, the median of rounds: 2 if the rule makes the function twice as fast.
    low : float
        Lower quartile of that ratio.
    high : float
        Upper quartile of that ratio.
    rounds : int
        Number of runs of both.
    with_ns : float
        Median time of a call with it.
    without_ns : float
        Median time of a call without it.
    with_bytes : int
        Peak memory of a call with it.
    without_bytes : int
        Peak memory of a call without it.
    instead : tuple of str
        Rules that did its work where it was left out: then the ratio is not the worth of that work.
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
    instead: tuple[str, ...] = ()

    def words(self) -> str:
        """Return the effect as a sentence.

        Examples
        --------
        >>> EffectRecord("PushOutDot1", 1.26, 1.24, 1.28, 50, 1e6, 1.26e6, 1000, 900).words()
        'measured: without it 1.26 times the time (quartiles 1.24 to 1.28, 50 rounds), 0.90 times the peak memory'
        """
        noise = ", which is noise" if self.low <= 1.0 <= self.high else ""
        memory = self.without_bytes / self.with_bytes if self.with_bytes else 1.0
        work = f"; its work was then done by {', '.join(self.instead)}" if self.instead else ""
        return (
            f"measured: without it {self.ratio:.2f} times the time (quartiles {self.low:.2f} to {self.high:.2f},"
            f" {self.rounds} rounds{noise}), {memory:.2f} times the peak memory{work}{self.harm('; ')}"
        )

    def harm(self, before: str = "") -> str:
        """Return a warning with the mode to write, if the rule makes the function slower or larger; else nothing.

        Examples
        --------
        >>> EffectRecord("PushOutDot1", 0.5, 0.4, 0.6).harm()
        "it makes this function 2.0 times slower; write: Mode(…).excluding('PushOutDot1')"
        """
        found = []
        if self.high * SLOWER < 1.0:
            found.append(f"makes this function {1 / self.ratio:.1f} times slower")
        if (
            self.with_bytes - self.without_bytes > NOTICED_BYTES
            and self.with_bytes > LARGER * self.without_bytes
        ):
            found.append(f"takes {self.with_bytes / max(1, self.without_bytes):.1f} times the memory")
        if not (found and self.rule.isidentifier()):  # "all of them" is no rule
            return ""
        return f"{before}it {' and '.join(found)}; write: Mode(…).excluding({self.rule!r})"


class RewritesRecord(Strict, frozen=True):
    """The effects of all rewrites of one function.

    Attributes
    ----------
    selection : str
        The rules that might be used, as ``Mode(rewrites=…)`` takes them.
    cost : GraphCostRecord or None
        Cost of the graph as it was built.
    applications : tuple of RewriteRecord
        In order.
    refusals : tuple of RefusalRecord
        Those that came nearest first.
    graphs : VersionsRecord or None
        The graph as it was built and after each application; the last alone where there was no room for more.
    effects : tuple of EffectRecord
        Measured effects of rules, where ``scanviz rewrites --ablate --into`` put them here.
    sizes : dict of str to int
        Named sizes of the function's last call that its costs depend on; empty where it was never called.
    """

    selection: str = "all"
    cost: GraphCostRecord | None = None
    applications: tuple[RewriteRecord, ...] = ()
    refusals: tuple[RefusalRecord, ...] = ()
    graphs: VersionsRecord | None = None
    effects: tuple[EffectRecord, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)

    def effect(self, rule: str) -> EffectRecord | None:
        """Return the measured effect of a rule; None if it was not measured."""
        return next((effect for effect in self.effects if effect.rule == rule), None)

    @property
    def has_versions(self) -> bool:
        """True if all versions of the graph are present."""
        return self.graphs is not None and self.graphs.first == 0

    def lines(self, after: int) -> tuple[str, ...]:
        """Return the graph after k applications, one operation a line; empty if only the list was kept.

        Examples
        --------
        >>> from scanviz.record.graphs.graph import NodeRecord, ResultRecord
        >>> from scanviz.record.graphs.versions import WantedRecord
        >>> x = NodeRecord(0, "x", "", 0, (ResultRecord("x", "x", "float64[]", "x"),), role="input")
        >>> y = NodeRecord(0, "y", "exp", 1, (ResultRecord("y", "y", "float64[]"),), ("x",))
        >>> versions = VersionsRecord("f", wanted=(WantedRecord(0, ("y",)),), output_names=("",), nodes=(x, y))
        >>> RewritesRecord(graphs=versions).lines(0)
        ('y = exp(x)', 'return y')
        """
        version = self.graphs.version(after) if self.graphs is not None else None
        return (
            tuple(version_lines(self.graphs, version))
            if self.graphs is not None and version is not None
            else ()
        )

    def edits(self) -> list[list[LineEdit]]:
        """Return the edits of the lines by each application, the last edit of each first; nothing without graphs."""
        count = len(self.applications)
        found = (
            list(edits_of_versions(self.graphs)) if self.graphs is not None and self.graphs.first == 0 else []
        )
        return [*found, *([] for _ in range(count - len(found)))]

    def snapshot(self, after: int) -> GraphSnapshot | None:
        """Return the graph after k applications, for pictures; None if it was not kept.

        Raises
        ------
        ScanvizValueError
            If its nodes are no graph.
        """
        return snapshot_of(self.graphs, after) if self.graphs is not None else None

    @property
    def origins(self) -> tuple[OriginRecord, ...]:
        """The origins of all operations of all versions, in order of first appearance."""
        return tuple(origins_of(self.graphs)) if self.has_versions and self.graphs is not None else ()

    def loops(self) -> tuple[str, ...]:
        """Return the names of all loops of all versions, in order of first appearance; a name may contain a ``/``.

        Examples
        --------
        >>> RewritesRecord(cost=GraphCostRecord(per_step={"at a/b.py:1": 3, "at a/b.py:1/inner": 1})).loops()
        ('at a/b.py:1', 'inner')
        """
        costs = [self.cost, *(application.cost for application in self.applications)]
        paths = dict.fromkeys(path for cost in costs if cost is not None for path in cost.per_step)
        names = [
            path[max((len(text) + 1 for text in paths if path.startswith(f"{text}/")), default=0) :]
            for path in paths
        ]
        return tuple(dict.fromkeys(names))

    def list_only(self) -> RewritesRecord:
        """Return the short form for a full record: applied rules, their messages, and the last graph.

        Examples
        --------
        >>> one = RewriteRecord(0, "canonical", "r", "f.py:1", "…", moved_out=("exp(x)",))
        >>> small = RewritesRecord("all", None, (one,)).list_only()
        >>> small.applications[0].message, small.applications[0].moved_out
        ('…', ())
        """
        listed = (
            replace(application, moved_out=(), moved_in=(), loop_variables=(), cost=None, difference=None)
            for application in self.applications
        )
        last = self.graphs.last_only(len(self.applications)) if self.graphs is not None else None
        return RewritesRecord(self.selection, applications=tuple(listed), graphs=last)

    def numbers(self, after: int) -> CostNumbersRecord | None:
        """Return the cost of the graph in numbers after k applications; None if it is unknown.

        Examples
        --------
        >>> from scanviz.record.costs import StepNumbersRecord
        >>> first = CostNumbersRecord(60, 900, per_step={"rnn": StepNumbersRecord(3, 90)})
        >>> last = CostNumbersRecord(40, 900, per_step={"rnn": StepNumbersRecord(2, 80)})
        >>> one = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=GraphCostRecord(numbers=last))
        >>> record = RewritesRecord(cost=GraphCostRecord(numbers=first), applications=(one,))
        >>> [record.numbers(k).per_step["rnn"].flops for k in (0, 1)]
        [90, 80]
        """
        found, steps = None, dict[str, StepNumbersRecord]()
        for cost in (self.cost, *(application.cost for application in self.applications[:after])):
            if cost is not None and cost.numbers is not None:
                found = cost.numbers
                steps.update(found.per_step)
                for loop in cost.gone:
                    steps.pop(loop, None)
        return replace(found, per_step=steps) if found is not None else None

    def steps(self, after: int) -> dict[str, int]:
        """Return the operations in one step of each loop after k applications."""
        found = dict(self.cost.per_step) if self.cost is not None else {}
        for application in self.applications[:after]:
            if application.cost is not None:
                found.update(application.cost.per_step)
                for name in application.cost.gone:
                    found.pop(name, None)
        return found


def with_lines(rewrites: RewritesRecord) -> dict[str, Any]:
    """Return a history as JSON data: the graph as lines, the origin of each operation, and the edits of each rewrite.

    Examples
    --------
    >>> data = with_lines(RewritesRecord())
    >>> data["lines"], "graphs" in data
    ([], False)
    """
    found: dict[str, Any] = encode(replace(rewrites, graphs=None))
    del found["graphs"]
    found["lines"], found["origins"] = (
        list(rewrites.lines(0)),
        [encode(origin) for origin in rewrites.origins],
    )
    for entry, edits in zip(found["applications"], rewrites.edits(), strict=True):
        entry["edits"] = [encode(edit) for edit in edits]
    return found


def origins_of(graphs: VersionsRecord) -> Iterator[OriginRecord]:
    """Iterate over the origins of all operations of all versions."""
    seen: set[str] = set()
    for node in graphs.nodes:
        name = node.results[0].key if node.results else node.op
        if node.role == "computed" and name not in seen:
            seen.add(name)
            yield OriginRecord(name, node.op, node.source, node.rule, node.parents)
