"""Verify rewrites on real inputs: compare a function's values, and gradients, before and after every application of a rule.

Values are compared on the reference tier, so that only the graph differs.  At the end the results of the function itself, on its
own tier with planned memory, are compared with the graph as built.  Rules may change the order of sums: floating results agree to
:data:`TOLERANCE` of the largest number of an array, all others exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.backends.registry import resolve
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import Function
from scanviz.engine.function.arguments import to_host
from scanviz.engine.graph.nodes import Variable, describe, is_floating
from scanviz.engine.ops.elementwise import add, cast, multiply
from scanviz.engine.ops.reduce import sum as sum_of
from scanviz.engine.ops.support import constant
from scanviz.engine.program.lower import lower
from scanviz.engine.rewrites.history import Record

TOLERANCE = {"float64": 1e-7, "float32": 1e-3, "float16": 1e-1}
MOST_GRADIENTS = 4  # versions of one history at which gradients are compared
A_GRADIENT = 4  # work of a version with its gradients, in versions without

Notify = Callable[[float, str], None]  # takes the progress, from 0 to 1, and the current rule or part


class ValueDifference(Struct, frozen=True):
    """A difference of results.

    Attributes
    ----------
    output : str
        The output.
    what : str
        The difference, in words.
    """

    output: str
    what: str


class Checked(Struct, frozen=True):
    """The verification of one application of a rule.

    Attributes
    ----------
    index : int
        Index of the application.
    rule, message : str
        The rule, and its message.
    difference : ValueDifference or None
        The first output that changed.
    exact : bool
        Whether all outputs are equal to the last bit.
    """

    index: int
    rule: str
    message: str
    difference: ValueDifference | None
    exact: bool


class Verification(Struct, frozen=True):
    """The verification of a function.

    Attributes
    ----------
    function : str
        The function's name.
    checked : tuple of Checked
        Values, by application.
    gradients : tuple of Checked
        Gradients, after some of the applications.
    skipped : str
        The reason if gradients were not compared; else empty.
    whole : ValueDifference or None
        The difference between the function as it runs and the graph as built.
    """

    function: str
    checked: tuple[Checked, ...]
    gradients: tuple[Checked, ...] = ()
    skipped: str = ""
    whole: ValueDifference | None = None

    @property
    def first_wrong(self) -> Checked | None:
        """The first application that changed a value or gradient."""
        return next(
            (checked for checked in (*self.checked, *self.gradients) if checked.difference is not None), None
        )


def values_of(function: Function, graph: Sequence[Variable], arrays: Sequence[Any]) -> list[Any]:
    """Return the values of a graph over a function's inputs and shared variables, without updating these."""
    reads: list[Variable] = [*(given.variable for given in function.spec.inputs), *function.spec.shared]
    program = lower(reads, graph, function.name)
    executable = resolve("reference").compile(program)
    return [np.array(result) for result in executable.run([np.array(array) for array in arrays], None)]


class CannotRunAgainError(Exception):
    """A function fails on its captured inputs even without rewrites."""


def every(record: Record) -> bool:
    """Choose all rewrites."""
    return True


def no_notification(done: float, what: str) -> None:
    """Ignore progress."""


def verify(
    function: Function,
    arrays: Sequence[Any],
    gradients: bool = True,
    among: Callable[[Record], bool] = every,
    notify: Notify = no_notification,
) -> Verification:
    """Compare a function's results before and after every application of a rule.

    Parameters
    ----------
    function : Function
        A compiled function.
    arrays : sequence of array
        Its inputs, then the values of its shared variables.
    gradients : bool
        Whether to compare gradients of its floating outputs too, at a few versions.
    among : callable
        Chooses the applications to verify.
    notify : callable
        Called before each application with the progress, from 0 to 1, and the rule.

    Raises
    ------
    CannotRunAgainError
        If the graph as built fails on these inputs.
    """
    history = function.rewrites.kept()
    graphs = history.all_graphs()
    versions = _Versions(function, graphs, arrays)
    checked = []
    records = history.of_graph
    whole_work = len(records) + (A_GRADIENT * (MOST_GRADIENTS + 2) if gradients else 0)
    for k, record in enumerate(records):
        if among(record):
            notify(k / max(whole_work, 1), record.rule)
            wrong, exact = versions.compared(k, k + 1)
            checked.append(Checked(record.index, record.rule, record.message, wrong, exact))
            if versions.fails(k + 1):
                break  # all versions after it fail too
    broken = bool(checked) and checked[-1].difference is not None and versions.fails(checked[-1].index + 1)
    wanted = gradients and not broken
    of_gradients = lambda part: notify(  # noqa: E731  # progress within this part
        (len(records) + part * (whole_work - len(records))) / max(whole_work, 1), "gradients"
    )
    found, skipped = (
        _gradients(function, graphs, arrays, among, of_gradients) if wanted else ([], "not asked for")
    )
    notify(1.0, "the function as it runs")
    whole = _as_it_runs(function, versions, graphs[0], arrays)
    return Verification(function.name, tuple(checked), tuple(found), skipped, whole)


def bisect(function: Function, arrays: Sequence[Any]) -> Checked | None:
    """Find the first application that changes the results of a function, by bisection; return None if there is none.

    Raises
    ------
    CannotRunAgainError
        If the graph as built fails on these inputs.
    """
    history = function.rewrites.kept()
    records = history.of_graph
    versions = _Versions(function, history.all_graphs(), arrays)
    low, high = 0, len(records)
    wrong, _ = versions.compared(0, high)
    if wrong is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found, _ = versions.compared(0, middle)
        low, high, wrong = (middle, high, wrong) if found is None else (low, middle, found)
    record = records[high - 1]
    return Checked(record.index, record.rule, record.message, wrong, False)


def _as_it_runs(
    function: Function, versions: _Versions, graph: Sequence[Variable], arrays: Sequence[Any]
) -> ValueDifference | None:
    """Compare a function on its own tier with the graph as built, on the reference tier."""
    expected = versions.as_built()
    try:
        given = [np.array(array) for array in arrays]
        found = [np.array(to_host(result)) for result in function.executable.run(given, None)]
    except Exception as error:  # a wrong plan of memory may fail in any way
        return ValueDifference("what is computed", f"it ends in an error: {_first_line(error)}")
    return compare(expected, found, _labels(function, graph))


class _Versions:
    """The results of a function at the versions of its history, computed on request; the latest few are kept."""

    def __init__(
        self, function: Function, graphs: Sequence[Sequence[Variable]], arrays: Sequence[Any]
    ) -> None:
        self._function, self._graphs, self._arrays = function, graphs, arrays
        self._known: dict[int, list[Any] | Exception] = {}

    def fails(self, version: int) -> bool:
        """Return whether a version fails."""
        return isinstance(self._at(version), Exception)

    def as_built(self) -> list[Any]:
        """Return the results without rewrites.

        Raises
        ------
        CannotRunAgainError
            If the graph as built fails.
        """
        found = self._at(0)
        if isinstance(found, Exception):
            raise CannotRunAgainError(f"it ends in an error on these inputs: {_first_line(found)}")
        return found

    def compared(self, before: int, after: int) -> tuple[ValueDifference | None, bool]:
        """Return the difference of two versions, and whether they are equal to the last bit."""
        old, new = self._at(before), self._at(after)
        if isinstance(old, Exception):
            where = "" if before == 0 else f" before rewrite {before}"
            raise CannotRunAgainError(f"it ends in an error on these inputs{where}: {_first_line(old)}")
        if isinstance(new, Exception):
            return ValueDifference("what is computed", f"it ends in an error now: {_first_line(new)}"), False
        exact = all(np.array_equal(a, b, equal_nan=_floating(a)) for a, b in zip(old, new, strict=True))
        return compare(old, new, _labels(self._function, self._graphs[after])), exact

    def _at(self, version: int) -> list[Any] | Exception:
        known = self._known.get(version)
        if known is None:
            try:
                known = values_of(self._function, self._graphs[version], self._arrays)
            except Exception as error:  # a wrong rewrite may fail in any way
                known = error
            self._known = {k: graph for k, graph in self._known.items() if k in (0, version - 1)}
            self._known[version] = known
        return known


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def compare(before: Sequence[Any], after: Sequence[Any], labels: Sequence[str]) -> ValueDifference | None:
    """Return the first difference of outputs; None if all agree."""
    for first, second, label in zip(before, after, labels, strict=True):
        a, b = np.asarray(first), np.asarray(second)
        if a.dtype != b.dtype or a.shape != b.shape:
            return ValueDifference(label, f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}")
        if not _floating(a):
            if not np.array_equal(a, b):
                return ValueDifference(label, f"{int(np.sum(a != b))} of {a.size} numbers differ")
            continue
        largest = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
        allowed = TOLERANCE[a.dtype.name] * max(largest, 1e-300)
        if not np.allclose(a, b, rtol=0.0, atol=allowed, equal_nan=True):
            finite = np.isfinite(a) & np.isfinite(b)
            off = float(np.max(np.abs(a - b), initial=0.0, where=finite))
            return ValueDifference(label, f"off by {off:.3g}, where the largest number is {largest:.3g}")
    return None


def _floating(array: Any) -> bool:
    return np.asarray(array).dtype.name in TOLERANCE


def _labels(function: Function, graph: Sequence[Variable]) -> list[str]:
    count = len(function.spec.outputs)
    outputs = [describe(output.variable) for output in function.spec.outputs]
    return [*outputs, *(f"new value of {name}" for name in function.updated_names)][: max(count, len(graph))]


def _gradients(
    function: Function,
    graphs: Sequence[Sequence[Variable]],
    arrays: Sequence[Any],
    among: Callable[[Record], bool],
    notify: Callable[[float], None],
) -> tuple[list[Checked], str]:
    """Compare gradients of a fixed sum of the outputs with respect to the inputs, after a few of the applications.

    Only versions before the phase ``keep`` count: it drops rows that are not read, but that a derivative would read.
    """
    records = list(itertools.takewhile(lambda entry: entry.phase != "keep", function.rewrites.of_graph))
    chosen = [k for k, entry in enumerate(records, 1) if among(entry)]
    wrt = [given.variable for given in function.spec.inputs if is_floating(given.variable)]
    wrt += [shared_variable for shared_variable in function.spec.shared if is_floating(shared_variable)]
    if not wrt:
        return [], "no input is a floating one"
    if not chosen:
        return [], "there was nothing to compare before unread rows were dropped"
    versions = sorted(
        {chosen[-1], *(chosen[k * len(chosen) // MOST_GRADIENTS] for k in range(MOST_GRADIENTS))}
    )
    try:
        notify(0.0)
        expected = _gradient_values(function, graphs[0], wrt, arrays)
        found = []
        for k, version in enumerate(versions, 1):
            notify(k / (1 + len(versions)))
            now = _gradient_values(function, graphs[version], wrt, arrays)
            wrong = compare(
                expected, now, [f"gradient with respect to {describe(variable)}" for variable in wrt]
            )
            record = records[version - 1]
            found.append(Checked(record.index, record.rule, record.message, wrong, False))
    except ScanvizError as error:
        return [], str(error).splitlines()[0]
    return found, ""


def _gradient_values(
    function: Function, graph: Sequence[Variable], wrt: Sequence[Variable], arrays: Sequence[Any]
) -> list[Any]:
    from scanviz.engine.gradient.grad import grad

    total: Variable = constant(0.0, "float64")
    for k, variable in enumerate(graph):
        if is_floating(variable):
            total = add(
                total, multiply(sum_of(cast(variable, "float64")), constant(1.0 + 0.37 * k, "float64"))
            )
    found = grad(total, list(wrt), disconnected_inputs="ignore")
    return values_of(function, found, arrays)
