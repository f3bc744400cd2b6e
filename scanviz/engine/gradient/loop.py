"""Back-propagation through time: the pullback of a loop is a loop over its steps in reverse.

One rule a role (the table of states is in :mod:`scanviz.engine.gradient.loops.adjoint`):

=============  ===============================================================================
forward        backward
=============  ===============================================================================
sequence       result of each step, reversed again; zero for rows that no step read
non-sequence   a sitsot that the steps' contributions are added to, from zeros; what the step
               computes of non-sequences alone likewise, and is pulled back after the loop
state          a mitmot over the cotangent of its rows, in reversed time
step output    a sequence: the cotangent of its rows, reversed
carry, until   nothing: random states and conditions have no derivative
=============  ===============================================================================

The step of the backward loop is the pullback of the forward step.  What it needs of the forward step's values comes from
:mod:`scanviz.engine.gradient.loops.residuals`.  Only loop variables on a way from something wanted to something that has a
cotangent take part.  ``truncate_gradient=k`` runs the last k steps alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.errors import InternalError
from scanviz.engine.gradient.loops.adjoint import AdjointTaps, adjoint_taps
from scanviz.engine.gradient.loops.connection import differentiable_sources, downstream, upstream
from scanviz.engine.gradient.loops.forward_rows import ForwardRows, reversed_rows
from scanviz.engine.gradient.loops.invariants import Invariants
from scanviz.engine.gradient.loops.residuals import Residuals, row_name
from scanviz.engine.gradient.sweeps.accumulate import add_cotangents, gradient_name
from scanviz.engine.gradient.sweeps.guards import chosen_inside, wild_inside
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import PULLBACKS, Arriving, Derivative, Derivatives, Undefined, zeros_like
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import depending_on, toposort
from scanviz.engine.ops.index import last_row
from scanviz.engine.scan.inference import row_type
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, loop_of
from scanviz.engine.scan.settings import GradientOf, ScanSettings
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    giving,
    inner_inputs,
    inner_outputs,
    kind_of,
    step_name,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


@PULLBACKS.row(SCAN)
def _pullback(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    op = loop_of(node)
    pairs = zip(op.result_variables, cotangents, strict=True)
    given = {variable: value for variable, value in pairs if value is not None}
    asked = [reader for reader, mine in zip(op.readers, wanted[1:], strict=True) if mine]
    found = Backpropagation(ScanView(node), given, asked).derivatives()
    return [None, *(found.get(reader) for reader in op.readers)]


class Backpropagation:
    """The back-propagation of one loop.

    Parameters
    ----------
    view : ScanView
        The forward loop.
    given : mapping
        Loop variable → cotangent of its outer output.
    wanted : sequence of loop variables
        Those whose outer inputs' cotangents are asked for.
    """

    def __init__(
        self, view: ScanView, given: Mapping[LoopVariable, Variable], wanted: Sequence[LoopVariable]
    ) -> None:
        op = view.op
        self.view, self.op, self.given = view, op, given
        part = upstream(op, list(given)) & downstream(op, wanted)
        self.wanted = [variable for variable in wanted if variable in part]
        self.states = [state for state in op.of_type(State) if state in part]
        self.outputs = [output for output in op.of_type(StepOutput) if output in part]
        self.taps: dict[State, AdjointTaps] = {state: adjoint_taps(state) for state in self.states}
        # the backward step's variables: cotangents of rows, and sums so far
        self.rows = {state: self._rows_of(state) for state in self.states}
        self.arriving = {
            output: Variable(output.value.type, gradient_name(step_name(output.name, 0)))
            for output in self.outputs
        }
        self.invariants = Invariants(view)
        self.sums = {
            variable: Variable(variable.variable.type, gradient_name(variable.name))
            for variable in (*self.wanted, *self.invariants.outer)
            if isinstance(variable, NonSequence) and self._is_wanted(variable)
        }
        self.forward: dict[tuple[LoopVariable, int], Variable] = {}

    def _rows_of(self, state: State) -> dict[int, Variable]:
        kind = row_type(state)
        return {
            tap: Variable(kind, step_name(gradient_name(state.name), tap)) for tap in self.taps[state].reads
        }

    def _is_wanted(self, non_sequence: NonSequence) -> bool:
        """Return whether a non-sequence is wanted, or an invariant value depends on one that is."""
        if non_sequence not in self.invariants.outer:
            return True
        sources = differentiable_sources(self.op).get(non_sequence.variable, frozenset())
        return any(variable in sources for variable in self.wanted)

    def _around(self, non_sequence: NonSequence) -> Variable:
        """Return the value outside of the loop of a non-sequence, or of an expression of non-sequences alone."""
        value = self.invariants.outer.get(non_sequence)
        return self.view.outer(non_sequence) if value is None else value

    def derivatives(self) -> dict[LoopVariable, Derivative]:
        """Return the cotangent of each wanted loop variable's outer input."""
        if not self.wanted or not (self.states or self.outputs):
            return {}
        pulled = self._pulled()
        undefined = self._undefined(pulled)
        variables = self._variables(
            {variable: d for variable, d in pulled.items() if isinstance(d, Variable)}
        )
        return self._after(self._apply(variables)) | undefined

    def _after(self, found: dict[LoopVariable, Derivative]) -> dict[LoopVariable, Derivative]:
        """Pull cotangents of invariant values back to their non-sequences."""
        totals = {
            invariant: total
            for invariant in self.invariants.outer
            if isinstance(total := found.pop(invariant, None), Variable)
        }
        wanted = [variable for variable in self.wanted if isinstance(variable, NonSequence)]
        if not totals or not wanted:
            return found
        further = self.invariants.pulled_back(totals, wanted, wild_inside(self.view.node))
        for variable, more in further.items():
            before = found.get(variable)
            if isinstance(before, Variable) and isinstance(more, Variable):
                found[variable] = add_cotangents([before, more])
            elif before is None or isinstance(more, Undefined):
                found[variable] = more
        return found

    def _pulled(self) -> dict[Variable, Derivative]:
        """Return the cotangents that one backward step gives to each variable read by the forward step."""
        seeds: dict[Variable, Variable] = {}
        node = self.view.node
        arriving = [
            (write, self.rows[state][tap]) for state in self.states for tap, write in state.writes.items()
        ]
        arriving += [(step_output.value, value) for step_output, value in self.arriving.items()]
        for result, value in arriving:
            seeds[result] = add_cotangents([seeds[result], value]) if result in seeds else value
        wrt: list[Variable] = [read for state in self.states for read in state.reads.values()]
        wrt += [variable.slice for variable in self.wanted if isinstance(variable, LoopSequence)]
        wrt += [non_sequence.variable for non_sequence in self.sums]
        found = pull_back(
            seeds,
            wrt,
            wild=wild_inside(node),
            chosen=chosen_inside(node, self.given),
            leaves=[invariant.variable for invariant in self.invariants.outer],
        )
        return dict(zip(wrt, found, strict=True))

    def _undefined(self, pulled: Mapping[Variable, Derivative]) -> dict[LoopVariable, Undefined]:
        """Return the wanted loop variables without a derivative: their own, or that of a state they go into."""
        found: dict[LoopVariable, Undefined] = {}
        owner = {
            inner: [variable] for variable in (*self.states, *self.wanted) for inner in inner_inputs(variable)
        }
        sources = differentiable_sources(self.op)
        for inner, derivative in pulled.items():
            if isinstance(derivative, Undefined):
                dependents = upstream(self.op, owner.get(inner) or sources[inner])
                found.update({variable: derivative for variable in self.wanted if variable in dependents})
        return found

    def _variables(self, pulled: Mapping[Variable, Variable]) -> list[LoopVariable]:
        """Return the loop variables of the backward loop, over variables of the backward step alone."""
        made: list[LoopVariable] = [self._adjoint(state, pulled) for state in self.states]
        self.sums = {role: total for role, total in self.sums.items() if role.variable in pulled}
        for non_sequence, total in self.sums.items():
            now = add_cotangents([total, pulled[non_sequence.variable]])
            made.append(State(gradient_name(non_sequence.name), {-1: total}, {0: now}))
        self.sequences = [
            variable
            for variable in self.wanted
            if isinstance(variable, LoopSequence) and variable.slice in pulled
        ]
        made += [
            StepOutput(
                gradient_name(step_name(sequence.name, sequence.tap) if sequence.tap else sequence.name),
                pulled[sequence.slice],
            )
            for sequence in self.sequences
        ]
        return self._closed(made)

    def _adjoint(self, state: State, pulled: Mapping[Variable, Variable]) -> State:
        """Return the adjoint of a state; its taps are negative: time is reversed."""
        rows, taps = self.rows[state], self.taps[state]
        kept = {tap: pulled[state.reads[tap]] for tap in taps.kept if state.reads[tap] in pulled}
        writes = {-tap: add_cotangents([term, rows[tap]]) for tap, term in kept.items()}
        if kept and state not in self.given and state.kind != "mitmot":
            deepest = min(kept)  # it writes a row before others add to it, and nothing arrives from outside
            writes[-deepest] = kept[deepest]
        for tap in taps.replaced:
            term = pulled.get(state.reads[tap])
            writes[-tap] = term if term is not None else zeros_like(rows[tap])
        for tap in taps.cleared:
            writes[-tap] = zeros_like(rows[tap])
        if not writes:  # nothing of the state is read with a derivative: its rows only pass
            first = taps.reads[0]
            writes[-first] = rows[first]
        return State(gradient_name(state.name), {-tap: row for tap, row in rows.items()}, writes)

    def _closed(self, made: Sequence[LoopVariable]) -> list[LoopVariable]:
        """Replace values of the forward step in loop variables by the backward step's variables for them."""
        there = {invariant.variable: (invariant, 0) for invariant in self.invariants.outer}
        self.residuals = Residuals(self.view, self._forward_row, self._like, there)
        results = [value for variable in made for value in inner_outputs(variable)]
        own = [
            *(row for rows in self.rows.values() for row in rows.values()),
            *self.arriving.values(),
            *self.sums.values(),
        ]
        dependent = depending_on(own, results)
        frontier = dict.fromkeys(
            variable
            for node in toposort(results)
            if not dependent.isdisjoint(node.outputs)
            for variable in node.inputs
            if variable not in dependent and not isinstance(variable, Constant)
        )
        frontier |= dict.fromkeys(
            result for result in results if result not in dependent and not isinstance(result, Constant)
        )
        fresh = iter(replace(results, self.residuals.provide(list(frontier)), check=False))
        return giving(made, fresh)

    def _forward_row(self, variable: LoopVariable, tap: int) -> Variable:
        """Return the backward step's variable that holds a row or value of the forward loop."""
        known = self.forward.get((variable, tap))
        if known is None:
            kind = _value(variable, tap).type
            known = self.forward[variable, tap] = Variable(kind, row_name(variable, tap))
        return known

    def _like(self, inner: Variable) -> Variable | None:
        """Return a variable already in the backward step that has the shape of an input of the forward step."""
        for state, rows in self.rows.items():
            if any(inner is read for read in state.reads.values()):
                return next(iter(rows.values()))
        return None

    def _apply(self, variables: Sequence[LoopVariable]) -> dict[LoopVariable, Derivative]:
        """Apply the backward loop and return the cotangents of the forward loop's outer inputs."""
        rows = ForwardRows(self.view, self.residuals.kept, [variable for variable, _ in self.forward])
        readers: dict[LoopVariable, Variable] = {}
        for (variable, tap), inner in self.forward.items():
            if isinstance(variable, NonSequence):
                readers[NonSequence(variable.name, inner)] = self._around(variable)
            else:
                readers[LoopSequence(variable.name, inner, tap)] = rows.reversed(variable, tap)
        for output, arriving in self.arriving.items():
            readers[LoopSequence(gradient_name(output.name), arriving)] = reversed_rows(self.given[output])
        outer = [*readers.values(), *(rows.buffer(state, self.given.get(state)) for state in self.states)]
        outer += [zeros_like(self._around(non_sequence)) for non_sequence in self.sums]
        op = Scan([*readers, *variables], None, self._settings())
        roles: list[LoopVariable] = [*self.states, *self.sums, *self.sequences]
        results = build(op, [rows.steps_back, *outer], [gradient_name(role.name) for role in roles])
        found: dict[LoopVariable, Derivative] = {}
        for role, result in zip(roles, results, strict=True):
            match role:
                case NonSequence():
                    found[role] = last_row(result, zeros_like(self._around(role)))
                case LoopSequence():
                    found[role] = rows.of_sequence(role, result)
                case State() if role in self.wanted:
                    found[role] = rows.of_initial(role, result, self.given.get(role))
                case _:
                    pass
        return found

    def _settings(self) -> ScanSettings:
        settings = self.op.settings
        return settings.renamed(f"grad_of_{settings.name}")._replace(
            recompute=False,
            gradient_of=GradientOf(settings.name, self.view.node.node_id),
            merged=(),
        )


def _value(variable: LoopVariable, tap: int) -> Variable:
    """Return the forward step's variable that a row or value is the value of."""
    if isinstance(variable, State):
        return variable.reads[tap] if tap in variable.reads else variable.writes[tap]
    if isinstance(variable, Carry):
        raise InternalError(f"a {kind_of(variable)} has no rows")
    (inner,) = (*inner_inputs(variable), *inner_outputs(variable))
    return inner
