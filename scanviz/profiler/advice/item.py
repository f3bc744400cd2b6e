"""A piece of advice, and the loops with their graphs that the rules read."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from scanviz.profiler.advice.figures import ran_ns
from scanviz.record.graphs.graph import GraphSnapshot, ScanRecord
from scanviz.record.graphs.rewrites import RefusalRecord
from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord, SourceRecord

WORTH = 0.02  # share of the run below which there is no advice
LARGE_BYTES = 32 * 2**20  # rows of fewer bytes get no advice


class Advice(Struct, frozen=True):
    """One change, and the evidence for it.

    Attributes
    ----------
    kind : str
        The rule that gave it.
    title : str
        The finding, in a line.
    text : str
        The change, its reason, and how the gain was estimated.
    evidence : str
        The figures of the record.
    source : SourceRecord or None
        The line to change.
    function : str
        The function; empty for the whole run.
    loop : str
        The loop, or empty.
    gain_ns : float or None
        Time that it saves in this run, at least about; None if unknown.
    gain_bytes : int or None
        Estimate of the memory that it saves.
    most_ns : float or None
        Upper bound of the time that it saves, if only that is known.
    """

    kind: str
    title: str
    text: str
    evidence: str
    source: SourceRecord | None = None
    function: str = ""
    loop: str = ""
    gain_ns: float | None = None
    gain_bytes: int | None = None
    most_ns: float | None = None


class SourcePlace(Struct, frozen=True, eq=False):
    """A loop that ran, with its function and graphs.

    Attributes
    ----------
    record : ProfileRecord
        The whole run.
    function : FunctionRecord
        Its function.
    loop : LoopRecord
        The loop.
    snapshot : ScanRecord or None
        The loop in the graph.
    around : GraphSnapshot or None
        The graph around it.
    """

    record: ProfileRecord
    function: FunctionRecord
    loop: LoopRecord
    snapshot: ScanRecord | None
    around: GraphSnapshot | None

    @property
    def step(self) -> GraphSnapshot | None:
        """The graph of its step; None if not kept."""
        return (
            self.around.step(self.snapshot) if self.around is not None and self.snapshot is not None else None
        )

    def is_worth(self, nanoseconds: float) -> bool:
        """Return whether a time is large enough for advice."""
        return is_worth(self.record, nanoseconds)

    def known_steps(self) -> int | None:
        """Return the maximum number of steps, if it is a constant of the graph."""
        if self.around is None or self.snapshot is None:
            return None
        for node in self.around.nodes:
            if node.loop is self.snapshot and node.inputs:
                steps = self.around.leaves.get(node.inputs[0])  # the first input of a Scan
                label = steps.results[0].label if steps is not None and steps.role == "constant" else ""
                text = label if label.isdecimal() else ""
                return int(text) if text and len(text) < 10 else None
        return None

    def operation(self, index: int | None) -> OperationRecord | None:
        """Return a timed operation of the step, by its index."""
        found = self.loop.operations
        if index is None or not 0 <= index < len(found) or not found[index].samples:
            return None
        return found[index]

    def refusal(self, rule: str) -> RefusalRecord | None:
        """Return the refusal of a rule for the loop, if recorded."""
        if self.function.rewrites is None:
            return None
        wanted = (rule, f"loop `{self.loop.name}`")  # no other loop of the function has that name
        found = (found for found in self.function.rewrites.refusals if (found.rule, found.node) == wanted)
        return next(found, None)


def advise(
    place: SourcePlace | FunctionRecord,
    kind: str,
    title: str,
    text: str,
    evidence: str,
    gain_ns: float | None = None,
    *,
    source: SourceRecord | None = None,
    gain_bytes: int | None = None,
    most_ns: float | None = None,
) -> Advice:
    """Return advice about a loop or a function, by default at its line."""
    if isinstance(place, SourcePlace):
        named = (source or place.loop.source, place.function.name, place.loop.name)
    else:
        named = (source or place.source, place.name, "")
    return Advice(kind, title, text, evidence, *named, gain_ns, gain_bytes, most_ns)


def is_worth(record: ProfileRecord, nanoseconds: float) -> bool:
    """Return whether a time is a large enough share of the run for advice."""
    return nanoseconds >= WORTH * ran_ns(record) > 0


def places(record: ProfileRecord) -> Iterator[SourcePlace]:
    """Return every loop that ran, with its graph."""
    functions = {function.key: function for function in record.functions}
    graphs = {
        function.key: {loop.key: (loop, around) for loop, _, around in function.graph.all_loops()}
        for function in record.functions
        if function.graph is not None
    }
    for loop in record.loops:
        function = functions.get(loop.function)
        if function is not None and loop.steps:
            snapshot, around = graphs.get(function.key, {}).get(loop.key, (None, None))
            yield SourcePlace(record, function, loop, snapshot, around)


def is_selected(selection: str, rule: str, tags: tuple[str, ...]) -> bool:
    """Return whether ``Mode(rewrites=selection)`` includes a rule; the last matching word counts.

    Examples
    --------
    >>> is_selected("all,-scan", "ScanSaveMem", ("scan",)), is_selected("none,+scan", "ScanSaveMem", ("scan",))
    (False, True)
    """
    found = False
    for word in selection.split(","):
        name = word.strip().lstrip("+-")
        if name in ("all", "none"):
            found = name == "all"
        elif name == rule or name in tags:
            found = not word.strip().startswith("-")
    return found
