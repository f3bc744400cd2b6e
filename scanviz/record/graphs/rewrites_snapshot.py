"""``f.rewrites`` as data: the engine's history copied into :mod:`scanviz.record.graphs.rewrites`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple, replace

from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.provenance import short_path
from scanviz.engine.program.instructions import Program, all_loops
from scanviz.engine.program.known_numbers import CallMet
from scanviz.engine.program.planned import Plans, planned_applications, planned_refusals
from scanviz.engine.program.rules import WHEN_PLANNED
from scanviz.engine.rewrites.cost import Cost
from scanviz.engine.rewrites.cost_numbers import (
    CostNumbers,
    NamedSizes,
    SizesMet,
    cost_met,
    named_sizes,
    names_in,
)
from scanviz.engine.rewrites.history import RewriteHistory, Version
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.pipeline import Application
from scanviz.engine.rewrites.versions import places
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.record.costs import CostNumbersRecord, GraphCostRecord, StepNumbersRecord
from scanviz.record.graphs.rewrites import (
    EffectRecord,
    RefusalRecord,
    RewriteRecord,
    RewritesRecord,
)
from scanviz.record.graphs.writing import GraphWriter
from scanviz.record.paths import recorded_path
from scanviz.record.storage.codec import field_types

if TYPE_CHECKING:
    from scanviz.engine.measurement.ablation import Effect

LONGEST_TERM = 240  # characters of a polynomial
MOST_NODES = 20_000  # of a graph that is kept in all its versions
NODE_BYTES = 700  # about the size of a node
MOST_REFUSALS = 40  # of one rule that are kept


class RewritesSource(NamedTuple):
    """Data for recording a function's rewrites later, without a reference to the function.

    Attributes
    ----------
    history : RewriteHistory
        The rules.
    names : list of str
        Names of the outputs and updates, empty for those without.
    title : str
        The function's name.
    program : Program or None
        Its Program, to link nodes to operations.
    inputs : sequence of Variable
        The inputs of its Program, in order.
    """

    history: RewriteHistory
    names: list[str]
    title: str
    program: Program | None
    inputs: Sequence[Variable] = ()


def rewrites_source(function: Function, program: Program | None) -> RewritesSource:
    """Return the data for recording the rewrites of a compiled function."""
    names = [*[""] * len(function.outputs), *function.updated_names]
    inputs = [*(given.variable for given in function.spec.inputs), *function.spec.shared]
    return RewritesSource(function.rewrites.alone(), names, function.name, program, inputs)


class SymbolicCosts(NamedTuple):
    """Costs of a graph's versions in named sizes; the numbers follow from the shapes of a call.

    It holds no variable and no array.

    Attributes
    ----------
    costs : list of Cost
        Of the graph as it was built and after each application, with the steps that cost something else before.
    sizes : NamedSizes
        Meanings of the names of sizes.
    files : collection of str
        Files that are named in names of loops.
    """

    costs: list[Cost]
    sizes: NamedSizes
    files: Collection[str]

    def numbers(self, met: CallMet) -> tuple[list[CostNumbersRecord], dict[str, int]]:
        """Return the costs of all versions in numbers, and the sizes they follow from."""
        assert met.shapes is not None
        positions = {number: position for position, number in enumerate(met.program.inputs)}
        values = {positions[number]: int(value) for number, value in met.values.items()}
        sizes = SizesMet(self.sizes, met.shapes, values)
        found = [_numbers(cost_met(cost, sizes)) for cost in self.costs]
        changing = _renames(self.files)
        return [_renamed(cost, changing, {}) for cost in found], _renamed(
            dict(sorted(sizes.used.items())), changing, {}
        )


class Written(NamedTuple):
    """The rewrites of a function as data, and the costs whose numbers are unknown before its first call.

    Attributes
    ----------
    record : RewritesRecord
        The data.
    costs : SymbolicCosts or None
        The costs; None where only the list was kept.
    """

    record: RewritesRecord
    costs: SymbolicCosts | None = None


def rewrites_record(history: RewriteHistory) -> RewritesRecord:
    """Return the history of a function's rewrites as data, without names of outputs and operations of a Program.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> f = scanviz.function([x], T.exp(x) + T.exp(x))
    >>> record = rewrites_record(f.rewrites)
    >>> record.lines(0), record.lines(1)
    (('v1 = exp(x)', 'v2 = exp(x)', 'v3 = add(v1, v2)', 'return v3'), ('v1 = exp(x)', 'v3 = add(v1, v1)', 'return v3'))
    """
    return _whole(RewritesSource(history, [], "", None)).record


def _whole(source: RewritesSource) -> Written:
    """Return the rewrites of a function, with all versions of its graph."""
    history = source.history.kept()
    versions = history.versions()
    first = next(versions)
    writer = GraphWriter(source.names, source.title, first.occurrences)
    writer.become(first.delta)
    records, costs = _applications(versions, first.cost, writer)
    refusals = tuple(map(_refusal, _nearest(history.refusals())))
    more = [_application(entry) for entry in history[len(records) :]]
    record = RewritesRecord(
        str(history.selection),
        _cost(first.cost),
        (*records, *more),
        refusals,
        writer.record(source.program),
    )
    sizes = named_sizes(first.meanings, source.inputs, names_in(costs))
    symbolic = SymbolicCosts(costs, sizes, writer.files())
    return Written(with_recorded_paths(record, writer.files()), symbolic)


def _applications(
    versions: Iterator[Version], before: Cost, writer: GraphWriter
) -> tuple[list[RewriteRecord], list[Cost]]:
    """Write all versions but the first; return the applications, and the costs of all versions."""
    records: list[RewriteRecord] = []
    costs = [before]
    for version in versions:
        writer.become(version.delta)
        records.append(_version(version, before))
        known = before.steps
        steps = {path: step for path, step in version.cost.steps.items() if known.get(path) != step}
        costs.append(replace(version.cost, steps=steps))
        before = version.cost
    return records, costs


def _nearest(refusals: Sequence[Refused]) -> Iterator[Refused]:
    """Iterate over the refusals nearest to firing, a few per rule."""
    counts: Counter[str] = Counter()
    for refusal in refusals:
        counts[refusal.rule] += 1
        if counts[refusal.rule] <= MOST_REFUSALS:
            yield refusal


def _application(record: Application) -> RewriteRecord:
    """Return an application as data, without its changes to the graph."""
    return RewriteRecord(
        record.index,
        record.phase,
        record.rule,
        record.where,
        record.message,
        record.count,
        tuple("/".join(path) for path in record.paths if path),
        time_ns=record.time_ns,
    )


def _version(version: Version, before: Cost) -> RewriteRecord:
    """Return an application as data, with its changes to the graph."""
    assert version.record is not None
    change = version.change
    return replace(
        _application(version.record),
        removed=len(change.removed),
        added=len(change.added),
        moved_out=change.moved_out,
        moved_in=change.moved_in,
        loop_variables=tuple(map(str, change.loop_variables)),
        cost=_cost(version.cost, before),
        difference=_cost(version.cost.less(before)),
    )


def _cost(cost: Cost, before: Cost | None = None) -> GraphCostRecord:
    """Return a cost as data, with the operations per step that changed."""
    steps = cost.operations_per_step
    earlier = {} if before is None else before.operations_per_step
    return GraphCostRecord(
        _text(cost.operations),
        _text(cost.flops),
        _text(cost.bytes_moved),
        _text(cost.buffer_bytes),
        {"/".join(path): count for path, count in steps.items() if earlier.get(path) != count},
        tuple("/".join(path) for path in earlier if path not in steps),
    )


def _numbers(found: CostNumbers) -> CostNumbersRecord:
    """Return a cost in numbers as data."""
    steps = {"/".join(path): StepNumbersRecord(*step) for path, step in found.steps.items()}
    return CostNumbersRecord(
        found.operations, found.flops, found.bytes_moved, found.buffer_bytes, per_step=steps
    )


def _text(value: Polynomial) -> str:
    return value.text(LONGEST_TERM)


def written(source: RewritesSource) -> Written:
    """Return the rewrites of a function; the list alone for a very large graph."""
    if len(places(source.history.before)) <= MOST_NODES:
        return _whole(source)
    listed = tuple(map(_application, source.history))
    return Written(RewritesRecord(str(source.history.selection), applications=listed))


def rewrites_of(function: Function) -> RewritesRecord:
    """Return the rewrites of a compiled function as data; the list alone for a very large graph."""
    found = written(rewrites_source(function, None)._replace(history=function.rewrites))
    met = function.call_met()
    if found.costs is None or met is None or met.shapes is None:
        return found.record
    return with_numbers(found.record, *found.costs.numbers(met))


def with_numbers(
    record: RewritesRecord, numbers: Sequence[CostNumbersRecord], sizes: Mapping[str, int]
) -> RewritesRecord:
    """Return a record with the costs of its graphs in numbers, and the sizes they follow from.

    Parameters
    ----------
    record : RewritesRecord
        The rewrites.
    numbers : sequence of CostNumbersRecord
        Of the graph as it was built, and after each application to it.
    sizes : mapping of str to int
        Named sizes.
    """
    if record.cost is None:  # the list alone was kept
        return record
    rest = iter(numbers)
    first = replace(record.cost, numbers=next(rest))
    listed = (
        application
        if application.cost is None
        else replace(application, cost=replace(application.cost, numbers=next(rest)))
        for application in record.applications
    )
    return replace(record, cost=first, applications=tuple(listed), sizes=dict(sizes))


def effect_record(effect: Effect) -> EffectRecord:
    """Return the measured effect of a rule as data."""
    return EffectRecord(*(getattr(effect, name) for name in field_types(EffectRecord)))


def with_planned(record: RewritesRecord, program: Program, plans: Plans) -> RewritesRecord:
    """Return a record with the memory rules' applications and refusals in the plans of a program's loops."""
    before = [application for application in record.applications if application.rule not in WHEN_PLANNED]
    planned = map(_application, planned_applications(program, plans))
    numbered = (replace(rewrite, index=k) for k, rewrite in enumerate((*before, *planned)))
    refused = [refusal for refusal in record.refusals if refusal.rule not in WHEN_PLANNED]
    apart = tuple(map(_refusal, _nearest(planned_refusals(program, plans))))
    lines = {
        instruction.provenance.source
        for loop, _ in all_loops(program)
        for instruction in loop.body.instructions
    }
    found = replace(record, applications=tuple(numbered), refusals=(*refused, *apart))
    return with_recorded_paths(found, {line.file for line in lines if line is not None}) if apart else found


def _refusal(seen: Refused) -> RefusalRecord:
    return RefusalRecord(
        seen.rule, "/".join(seen.path), seen.node, seen.source, seen.why, seen.preconditions_met
    )


def with_recorded_paths(record: RewritesRecord, files: Collection[str]) -> RewritesRecord:
    """Return a record whose texts name files by their recorded paths, never by a path of the machine."""
    changing = _renames(files)
    found: RewritesRecord = _renamed(record, changing, {}) if changing else record
    return found


def _renames(files: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs of file names and different recorded paths, long names first."""
    names = {name: recorded_path(file) for file in files for name in (file, short_path(file))}
    return sorted(((old, new) for old, new in names.items() if old != new), key=lambda pair: -len(pair[0]))


def _renamed(value: Any, names: Sequence[tuple[str, str]], known: dict[str, str]) -> Any:
    """Return a value with names replaced in all of its texts; ``known`` caches replaced texts."""
    if isinstance(value, str):
        found = known.get(value)
        if found is None:
            found = value
            for old, new in names:
                found = found.replace(old, new)
            known[value] = found
        return found
    if isinstance(value, tuple):
        return tuple(_renamed(item, names, known) for item in value)
    if isinstance(value, dict):
        return {_renamed(key, names, known): item for key, item in value.items()}
    if isinstance(value, Struct):
        return type(value)(*(_renamed(item, names, known) for item in astuple(value)))
    return value


def size_of(record: RewritesRecord) -> int:
    """Estimate the bytes of a record in memory."""
    graphs = record.graphs
    nodes = 0 if graphs is None else len(graphs.nodes)
    return 2_000 + NODE_BYTES * nodes + 400 * len(record.applications) + 300 * len(record.refusals)
