"""The application's state: one frozen object, and the moves that keys make.

Views do not talk to one another.  A key makes a new state out of the old one; every view that is shown then shows the new one.  So
what a key does can be tested without a terminal.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import parts_of
from scanviz.record.traces.blame import BlameLink, chain_of_blame
from scanviz.record.traces.model import FirstBad, TraceRecord, first_bad_of
from scanviz.record.values import SourceRecord


class ViewState(Struct, frozen=True):
    """The selection that all views share: record, function, loop, step and more.

    Attributes
    ----------
    record : ProfileRecord
        The profile.
    function : int or None
        Key of the function.
    loop : int or None
        Key of the loop; None for what a function does outside of loops.
    step : int
        The step, counted from 0.
    rewrite : int
        The application of a rule.
    variable : int or None
        Index of a loop variable of the loop.
    run : int or None
        The run of the loop whose steps are shown; None for all.
    line : str
        The user's line, as ``file:line``; empty for none.
    operation : int or None
        An operation of the loop, or of the function where no loop is looked at.
    """

    record: ProfileRecord
    function: int | None = None
    loop: int | None = None
    step: int = 0
    rewrite: int = 0
    variable: int | None = None
    run: int | None = None
    line: str = ""
    operation: int | None = None

    @property
    def function_record(self) -> FunctionRecord | None:
        """The function's record."""
        return next((function for function in self.record.functions if function.key == self.function), None)

    @property
    def loop_record(self) -> LoopRecord | None:
        """The loop's record."""
        return next((loop for loop in self.record.loops if loop.key == self.loop), None)

    @property
    def steps(self) -> int:
        """The number of steps of the loop's longest run."""
        loop = self.loop_record
        return loop.longest_run if loop is not None else 0

    @property
    def operations(self) -> tuple[OperationRecord, ...]:
        """Operations of the selected loop's step, or of the function if no loop is selected."""
        loop, function = self.loop_record, self.function_record
        if loop is not None:
            return loop.operations
        return function.operations if function is not None else ()

    def costliest(self, source: SourceRecord | None) -> OperationRecord | None:
        """Return the most expensive operation of a source line."""
        owner = self.loop_record or self.function_record
        built = [
            operation for operation in self.operations if source is not None and operation.source == source
        ]
        return max(built, key=owner.ran_ns, default=None) if owner is not None else None

    @property
    def traces(self) -> tuple[TraceRecord, ...]:
        """Kept values of the loop."""
        return tuple(trace for trace in self.record.traces if trace.loop == self.loop)

    def title(self, loop: LoopRecord) -> str:
        """Return a loop's title, unique within the record."""
        return loop_titles(self.record)[loop.key]

    # moves

    def at_function(self, key: int) -> ViewState:
        """Select a function, outside of its loops."""
        return replace(self, function=key, loop=None, variable=None, run=None, rewrite=0, operation=None)

    def at_loop(self, key: int) -> ViewState:
        """Select a loop; keep the step if the loop has it."""
        found = next((loop for loop in self.record.loops if loop.key == key), None)
        if found is None:
            return self
        step = min(self.step, max(0, found.longest_run - 1))
        rewrite = self.rewrite if found.function == self.function else 0
        return replace(
            self,
            function=found.function,
            loop=key,
            step=step,
            variable=None,
            run=None,
            rewrite=rewrite,
            operation=None,
        )

    def at_step(self, step: int) -> ViewState:
        """Select a step, or the nearest existing one."""
        return replace(self, step=max(0, min(step, max(0, self.steps - 1))))

    def at_rewrite(self, index: int) -> ViewState:
        """Select an application of a rule, or the nearest existing one."""
        function = self.function_record
        count = (
            len(function.rewrites.applications)
            if function is not None and function.rewrites is not None
            else 0
        )
        return replace(self, rewrite=max(0, min(index, max(0, count - 1))))

    def at_variable(self, index: int | None) -> ViewState:
        """Select a loop variable."""
        loop = self.loop_record
        known = loop is not None and index is not None and 0 <= index < len(loop.variables)
        return replace(self, variable=index if known else None)

    def at_run(self, run: int | None) -> ViewState:
        """Select one run, or all runs."""
        return replace(self, run=run)

    def at_operation(self, index: int | None) -> ViewState:
        """Select an operation, and the line that built it."""
        found = next((operation for operation in self.operations if operation.index == index), None)
        if found is None:
            return replace(self, operation=None)
        return replace(self, operation=index, line=str(found.source or ""))

    def at_line(self, line: str) -> ViewState:
        """Select a line of the user's, as ``file:line``."""
        return replace(self, line=line)

    def with_record(self, record: ProfileRecord) -> ViewState:
        """Keep the selection in a newer record of the same run."""
        known = replace(self, record=record)
        lost = known.function_record is None or (self.loop is not None and known.loop_record is None)
        begun = any(loop.total_ns for loop in self.record.loops)
        if lost or (record.loops and not begun):  # nothing was chosen on evidence yet
            return start(record)
        return known.at_step(self.step).at_rewrite(self.rewrite)

    # what to jump to

    def slowest_step(self) -> int | None:
        """Return the slowest kept step of the selected runs."""
        loop = self.loop_record
        if loop is None or not len(loop.series):
            return None
        rows = loop.series if self.run is None else loop.series[loop.series[:, 0] == self.run]
        return int(rows[rows[:, 2].argmax(), 1]) if len(rows) else None

    def first_bad(self) -> tuple[TraceRecord, FirstBad] | None:
        """Return the position of the first NaN or infinity kept: in the earliest run, the earliest step, computed first."""
        return first_bad_of(self.traces)

    def at_first_bad(self) -> ViewState | None:
        """Select the first NaN or infinity of this loop, else of the first loop that has one; None if there is none."""
        for key in (self.loop, *(loop.key for loop in self.record.loops)):
            state = self.at_loop(key) if key is not None else self
            found = state.first_bad()
            if found is not None:
                trace, bad = found
                several = len({trace.run for trace in state.traces}) > 1
                return state.at_step(bad.step).at_run(trace.run if several else state.run)
        return None

    def blame(self) -> tuple[BlameLink, ...]:
        """Return the chain of causes of this loop's first NaN or infinity."""
        return chain_of_blame(self.record, self.loop) if self.first_bad() is not None else ()

    def at_cause(self) -> ViewState | None:
        """Go to the next link in the chain of causes of a NaN or infinity; None at its end."""
        for link in self.blame()[1:]:
            if (
                link.loop is not None
                and link.step is not None
                and (link.loop, link.step) != (self.loop, self.step)
            ):
                return self.at_loop(link.loop).at_step(link.step)
        return None

    def other_loop(self) -> int | None:
        """Return the key of this loop's forward loop, else of its backward loop."""
        loop = self.loop_record
        if loop is None or loop.gradient_of is not None:
            return loop.gradient_of if loop is not None else None
        return next((other.key for other in self.record.loops if other.gradient_of == loop.key), None)


def start(record: ProfileRecord) -> ViewState:
    """Return the initial state: the loop that took the most time, or a function whose operations outside of loops took more.

    Examples
    --------
    >>> start(ProfileRecord(script="empty.py")).loop is None
    True
    """
    state = ViewState(record)
    outside = _outside_ns(record)
    function = max(outside, key=lambda key: outside[key], default=None)
    loop = max(record.loops, key=lambda loop: loop.total_ns, default=None)
    if loop is not None and (function is None or outside[function] <= loop.total_ns):
        return state.at_loop(loop.key)
    return state.at_function(function) if function is not None else state


def _outside_ns(record: ProfileRecord) -> dict[int, int]:
    """Return each function's time in operations outside loops."""
    found = {function.key: 0 for function in record.functions}
    for part in parts_of(record):
        if part.kind == "operation" and part.loop is None and part.function in found:
            found[part.function] += part.own_ns
    return found
