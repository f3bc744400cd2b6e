"""A piece of advice, and what the rules that give it are shown: one loop with its graph, and what is worth saying."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from scanviz.profiler.advice.figures import ran_ns, step_ns
from scanviz.record.graphs.graph import GraphSnapshot, ScanRecord
from scanviz.record.graphs.rewrites import RefusalRecord
from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord, SourceRecord

WORTH = 0.02  # of the run: what costs less is not worth a word
LARGE_BYTES = 32 * 2**20  # rows that take less memory are nobody's trouble


class Advice(Struct, frozen=True):
    """One thing to change, and what the record says for it.

    Attributes
    ----------
    kind : str
        Which rule gave it.
    title : str
        What was found, in a line.
    text : str
        What to do and why, and how the gain was estimated.
    evidence : str
        The figures of the record.
    source : SourceRecord or None
        The line to change.
    function : str
        The function it is about; empty where it is about the whole run.
    loop : str
        The loop it is about, or empty.
    gain_ns : float or None
        Time of this run that it saves at least about, of usual steps and calls; None where the record bounds no such time.
    gain_bytes : int or None
        Memory that it can save, estimated.
    most_ns : float or None
        Time of this run that it can save at most, where no more than that is known.
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
    """A loop that ran, and what is known of it.

    Attributes
    ----------
    record : ProfileRecord
        The whole run.
    function : FunctionRecord
        The function it belongs to.
    loop : LoopRecord
        The loop.
    snapshot : ScanRecord or None
        It as a graph.
    around : GraphSnapshot or None
        The graph it stands in.
    """

    record: ProfileRecord
    function: FunctionRecord
    loop: LoopRecord
    snapshot: ScanRecord | None
    around: GraphSnapshot | None

    @property
    def step(self) -> GraphSnapshot | None:
        """The graph of its step; None where it was not kept."""
        return (
            self.around.step(self.snapshot) if self.around is not None and self.snapshot is not None else None
        )

    def advice(
        self,
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
        """Return advice about the loop, at its line where no other is given."""
        named = (source or self.loop.source, self.function.name, self.loop.name)
        return Advice(kind, title, text, evidence, *named, gain_ns, gain_bytes, most_ns)

    def is_worth(self, nanoseconds: float) -> bool:
        """Return whether a time is a part of the run worth a word."""
        return is_worth(self.record, nanoseconds)

    def step_ns(self) -> float:
        """Return what a usual step took."""
        return step_ns(self.loop)

    def known_steps(self) -> int | None:
        """Return how many steps the loop takes at most, where that is a constant of its graph."""
        if self.around is None or self.snapshot is None:
            return None
        for node in self.around.nodes:
            if node.loop is self.snapshot and node.inputs:
                steps = self.around.leaves.get(
                    node.inputs[0]
                )  # what a Scan reads first is its number of steps
                label = steps.results[0].label if steps is not None and steps.role == "constant" else ""
                text = label if label.isdecimal() else ""
                return int(text) if text and len(text) < 10 else None
        return None

    def operation(self, index: int | None) -> OperationRecord | None:
        """Return an operation of the step that was timed, by its index."""
        found = self.loop.operations
        if index is None or not 0 <= index < len(found) or not found[index].samples:
            return None
        return found[index]

    def refusal(self, rule: str) -> RefusalRecord | None:
        """Return why a rule did not fire on the loop, where that was recorded."""
        if self.function.rewrites is None:
            return None
        wanted = (rule, f"loop `{self.loop.name}`")  # no other loop of the function has that name
        found = (found for found in self.function.rewrites.refusals if (found.rule, found.node) == wanted)
        return next(found, None)


def is_worth(record: ProfileRecord, nanoseconds: float) -> bool:
    """Return whether a time is a part of the run worth a word: of the time in which it ran, where others took the processor."""
    return nanoseconds >= WORTH * ran_ns(record) > 0


def places(record: ProfileRecord) -> Iterator[SourcePlace]:
    """Return every loop that took steps, with its graph."""
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
    """Return whether a selection of rules, as ``Mode(rewrites=…)`` takes it, has a rule: the last word that fits it counts.

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
