"""``scan_checkpoints``: a loop whose gradient keeps every N-th state and computes the rest again.

The loop becomes a loop of chunks: an outer Scan whose step is an inner Scan over N steps.  For its gradient the outer loop
keeps one state per chunk.  The inner loop is marked ``recompute``: the backward step of the outer loop runs it again and goes
back through it at once (:mod:`scanviz.engine.gradient.loops.residuals`).  Memory falls from n rows to n/N + N rows, least for N
about √n, and each step is computed twice.  Steps that do not fill a chunk are a loop of their own behind.

Source: one level of the schedule in Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct, field

from scanviz.engine.building import building
from scanviz.engine.errors import ScanvizNotImplementedError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Constant, Variable, tensor_type
from scanviz.engine.graph.provenance import building_scan
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.index import getitem, last_row, state_history
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import dimension, reshape
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.support import as_integer, constant, constant_integer
from scanviz.engine.scan import assemble
from scanviz.engine.scan.arguments import cut_sequences, number_of_steps
from scanviz.engine.scan.build import loop_settings
from scanviz.engine.scan.inference import outer_type, row_type
from scanviz.engine.scan.loop import Scan, results_of
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.updates import ScanResult, Updates, updates_of_loop
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    has_outer_input,
)
from scanviz.engine.scan.variables import (
    Sequence as LoopSequence,
)


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: str = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int | Variable | Literal["auto"] = 10,  # the documents' name
    padding: bool = True,
) -> tuple[Any, Updates]:
    """Run a loop like :func:`scan`, keeping every N-th row: less memory for its gradient, for more time.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences
        As for :func:`scan`.  ``fn`` may not end the loop by ``until``: chunks have a fixed length.
    name : str
        Name of the loop; its parts are ``NAME_outer``, ``NAME_inner`` and ``NAME_rest``.
    n_steps
        As for :func:`scan`.
    save_every_N : int, integer scalar or "auto"
        Steps of a chunk; ``"auto"`` takes the square root of the number of steps, rounded up.
    padding : bool
        False promises that the number of steps is a multiple of ``save_every_N``: then no loop for the rest is built.  A broken
        promise is an error, when building or when run.  The name is that of Theano's documents; nothing is padded.

    Returns
    -------
    outputs : Variable, list of Variable or None
        Of each output the rows of steps N-1, 2 N-1, … and of the last step, where that is another one: ``outputs[-1]`` is
        always the last row.
    updates : Updates
        New values of shared variables.

    Raises
    ------
    ScanvizError
        As for :func:`scan`, and if ``save_every_N`` is no positive integer.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x, w = T.vector("x"), T.scalar("w")
    >>> h, _ = scanviz.scan_checkpoints(lambda x_t, h, w: T.tanh(w * h + x_t), x, 0.0, w, save_every_N=2)
    >>> f = scanviz.function([x, w], [h, scanviz.grad(h[-1], w)])
    >>> [array.shape for array in f([0.1, 0.2, 0.3, 0.4, 0.5], 0.9)]
    [(3,), ()]
    """
    with building("scan"):
        settings = loop_settings(name, -1, None, None, False, False)
        wanted = assemble.scan_request(fn, sequences, outputs_info, non_sequences, False)
        steps = number_of_steps(wanted.sequences, n_steps, settings.name)
        step = assemble.build_step(wanted, settings.name)
        parts = assemble.loop_parts(wanted, step, cut_sequences(wanted.sequences, False))
        if parts.until is not None:
            raise ScanvizNotImplementedError(
                f"loop `{name}` ends by a condition, and chunks of a fixed length cannot",
                where=step.where,
                fix="the number of steps first, n = scan(step, …)[0].shape[0] with the condition,\n"
                "then scan_checkpoints(step without it, …, n_steps=n)",
            )
        chunks = _Chunks(parts, settings, steps, _chunk(save_every_N, steps), bool(padding))
        rows, final = chunks.build()
        outputs = [rows[output] for output in parts.outputs]
        updates = updates_of_loop({shared: final[variable] for variable, shared in parts.shared})
        return ScanResult(None if not outputs else outputs[0] if len(outputs) == 1 else outputs, updates)


def _chunk(wanted: Any, steps: Variable) -> Variable:
    """Return the number of steps of a chunk as an int64 scalar of at least 1."""
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ScanvizTypeError.here(
                "save_every_N cannot be used", expected='an integer, or "auto"', found=repr(wanted)
            )
        root = e.ceil(e.sqrt(e.cast(steps, "float64")))
        return e.maximum(e.cast(root, "int64"), 1)
    size = as_integer(wanted, "save_every_N")
    known = constant_integer(size)
    if known is not None and known < 1:
        raise ScanvizValueError.here(
            "save_every_N must be at least 1", expected="a positive number of steps", found=known
        )
    return size


class _Chunks(Struct):
    """The loop of chunks over the parts of a loop of single steps."""

    parts: assemble.ScanParts
    settings: ScanSettings
    steps: Variable
    size: Variable
    padding: bool
    # inner loop variable → what its chunk reads
    given: dict[LoopVariable, Variable] = field(default_factory=dict)

    def build(self) -> tuple[dict[LoopVariable, Variable], dict[LoopVariable, Variable]]:
        """Return the rows that are kept of each result, and the last values of states and carries."""
        count, whole, rest = self._counts()
        results = self._outer_results(count, whole)
        last = {result: self._last(result, results[result]) for result in results}
        rows = {variable: self._kept(variable, result) for variable, result in results.items()}
        if rest is None:
            return rows, {
                variable: self._single(variable, value)
                for variable, value in last.items()
                if self._carried(variable)
            }
        behind = self._rest(whole, rest, last)
        final: dict[LoopVariable, Variable] = {}
        for variable, result in behind.items():
            if isinstance(variable, Carry):
                rows[variable] = final[variable] = result
            else:
                rows[variable] = concatenate([rows[variable], getitem(result, slice(-1, None))], axis=0)
                if self._carried(variable):
                    final[variable] = last_row(result, self._single(variable, last[variable]))
        return rows, final

    def _counts(self) -> tuple[Variable, Variable, Variable | None]:
        """Return the number of chunks, their steps, and the remaining steps (None if surely zero)."""
        count = _folded(e.floor_divide(self.steps, self.size))
        whole = _folded(e.multiply(count, self.size))
        rest = _folded(e.subtract(self.steps, whole))
        left = constant_integer(rest)
        if left == 0:
            return count, whole, None
        if self.padding:
            return count, whole, rest
        if left is not None:
            raise ScanvizValueError.here(
                f"loop `{self.settings.name}`: padding=False, and the steps are no multiple of save_every_N",
                expected=f"a multiple of {constant_integer(self.size)}",
                found=f"{constant_integer(self.steps)} steps",
                fix="padding=True",
            )
        beyond = arange(rest)
        beyond.name = "steps beyond a multiple of save_every_N, with padding=False"
        none = e.add(
            count, sum_over(specify_shape(beyond, (0,), "scan_checkpoints"))
        )  # 0, or an error when run
        return none, e.multiply(none, self.size), None

    def _outer_results(self, count: Variable, whole: Variable) -> dict[LoopVariable, Variable]:
        """Apply the outer loop and return its results by the inner loop's variables."""
        size = Variable(self.size.type, "save_every_N")
        fixed = constant_integer(self.size) is not None
        inputs: list[Variable] = []
        for variable in self.parts.variables:
            if not isinstance(variable, StepOutput):
                self.given[variable] = self._reads(variable)
                inputs.append(self._chunked(variable, count, whole))
        with building_scan(f"{self.settings.name}_outer"):
            inner = self._inner("inner", recompute=True)
            results = self._applied(inner, self.size if fixed else size, self.given)
            variables = [self._outer_variable(variable, results) for variable in self.parts.variables]
        if not fixed:
            variables.append(NonSequence("save_every_N", size))
            inputs.append(self.size)
        op = Scan(variables, None, self.settings.renamed(f"{self.settings.name}_outer"))
        made = results_of(op, [count, *inputs])
        return dict(zip(self.parts.result_variables, made.values(), strict=True))

    def _inner(self, suffix: str, recompute: bool) -> Scan:
        settings = self.settings.renamed(f"{self.settings.name}_{suffix}")._replace(recompute=recompute)
        return Scan(self.parts.variables, None, settings)

    def _applied(
        self, op: Scan, steps: Variable, given: dict[LoopVariable, Variable]
    ) -> dict[LoopVariable, Variable]:
        inputs = [given[variable] for variable in op.variables if has_outer_input(variable)]
        return results_of(op, [steps, *inputs])

    def _reads(self, variable: LoopVariable) -> Variable:
        """Return the outer step's variable that a loop variable of the inner loop reads."""
        kind = outer_type(variable)
        if isinstance(variable, State) and variable.kind != "sitsot":
            row = row_type(variable)
            kind = row.with_shape((variable.offset, *row.shape))
        return Variable(kind, variable.name)

    def _chunked(self, variable: LoopVariable, count: Variable, whole: Variable) -> Variable:
        """Return the outer loop's input for a loop variable: sequences cut into chunks, initial states."""
        value = self.parts.outer[variable]
        match variable:
            case LoopSequence():
                sizes = [dimension(value, axis) for axis in range(1, tensor_type(value).ndim)]
                return reshape(getitem(value, slice(None, whole)), [count, self.size, *sizes])
            case State() if variable.kind == "mitsot":
                rows = (variable.offset, *(None for _ in tensor_type(value).shape[1:]))
                return specify_shape(value, rows, "scan_checkpoints", f"initial rows of {variable.name}")
            case _:
                return value

    def _outer_variable(self, variable: LoopVariable, results: dict[LoopVariable, Variable]) -> LoopVariable:
        """Return the outer loop's variable for one of the inner loop."""
        match variable:
            case LoopSequence():
                return LoopSequence(variable.name, self.given[variable], variable.tap, variable.argument)
            case NonSequence():
                return NonSequence(variable.name, self.given[variable], variable.captured)
            case State():
                window = self.given[variable]
                if variable.kind == "sitsot":
                    new = getitem(results[variable], -1)
                else:
                    every = state_history(results[variable], window, variable.offset)
                    new = getitem(every, slice(-variable.offset, None))
                return State(variable.name, {-1: window}, {0: new}, shared=variable.shared)
            case Carry():
                return Carry(variable.name, self.given[variable], results[variable], variable.shared)
            case StepOutput():
                return StepOutput(variable.name, getitem(results[variable], -1))

    def _rest(
        self, whole: Variable, rest: Variable, last: dict[LoopVariable, Variable]
    ) -> dict[LoopVariable, Variable]:
        """Apply the loop over the steps that fill no chunk."""
        given: dict[LoopVariable, Variable] = {}
        for variable in self.parts.variables:
            if isinstance(variable, LoopSequence):
                given[variable] = getitem(self.parts.outer[variable], slice(whole, None))
            elif isinstance(variable, NonSequence):
                given[variable] = self.parts.outer[variable]
            elif not isinstance(variable, StepOutput):
                given[variable] = last[variable]
        return self._applied(self._inner("rest", recompute=False), rest, given)

    @staticmethod
    def _carried(variable: LoopVariable) -> bool:
        return isinstance(variable, State | Carry)

    def _last(self, variable: LoopVariable, result: Variable) -> Variable:
        """Return the rows of a state after the last chunk that its deepest tap needs."""
        if not isinstance(variable, State):
            return result
        return last_row(result, self.parts.outer[variable])

    @staticmethod
    def _single(variable: LoopVariable, last: Variable) -> Variable:
        mitsot = isinstance(variable, State) and variable.kind == "mitsot"
        return getitem(last, -1) if mitsot else last

    @staticmethod
    def _kept(variable: LoopVariable, result: Variable) -> Variable:
        """Return the user's rows of an outer result: of a state with several rows a chunk, the last."""
        mitsot = isinstance(variable, State) and variable.kind == "mitsot"
        return getitem(result, (slice(None), -1)) if mitsot else result


def _folded(size: Variable) -> Variable:
    """Return a size as a constant where all that it is made of is known."""
    owner = size.owner
    if owner is None or not all(isinstance(variable, Constant) for variable in owner.inputs):
        return size
    return constant(int(evaluate(size, {})), "int64")
