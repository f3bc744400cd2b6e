"""Laws of identities: replacements keep dtype, shape and every bit, for all numbers."""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, scan
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, build, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops import elementwise as e
from scanviz.engine.rewrites.batching import BATCHING, batched
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.pipeline import rewritten
from scanviz.engine.rewrites.rule import UNSAFE, Rule
from scanviz.engine.rewrites.selection import Selection
from tests.laws.law import law
from tests.support.comparing import assert_close, assert_same_bits
from tests.support.declared import ROWS, UnfitError
from tests.support.fresh_operands import FreshOperands
from tests.support.graphs import GraphCase, random_graphs, valued, values_of, written


def _graphs_for(rule: Rule) -> st.SearchStrategy[tuple[str, GraphCase]]:
    """Return graphs of the operations that a rule is meant for, with its name."""
    among = [row for row in ROWS if row in rule.on]
    return random_graphs(among=tuple(among)).map(lambda case: (rule.name, case))


def _is_about_values(rule: Rule) -> bool:
    """Return whether a rule may fire in a graph without loops, and is used without being asked for."""
    general = "memory" not in rule.phases and UNSAFE not in rule.tags
    return general and (not rule.on or any(declaration in ROWS for declaration in rule.on))


# A rule for each operation that it is meant for, once at least: those with long tables are asked more often.
ROUNDING = {"float16": 0.05, "float32": 1e-3, "float64": 1e-2}  # of float64 results of float16 before, too
ON_REQUEST = {declaration for rule in all_rules() if UNSAFE in rule.tags for declaration in rule.on}
UNSAFE_OPERATIONS = tuple(row for row in ROWS if row in ON_REQUEST or row in (e.sqrt, e.sigmoid))
RULES = [rule for rule in all_rules() if _is_about_values(rule) for _ in [None, *rule.on]]


def _check(case: GraphCase, selection: Selection) -> None:
    after = rewritten(case.outputs, selection)
    for row, expected in zip(case.rows, case.expected, strict=True):
        found = values_of(after, case.inputs, row)
        for mine, theirs, output in zip(found, expected, case.outputs, strict=True):
            try:
                assert_same_bits(mine, theirs)
            except AssertionError as error:
                error.add_note(f"{written(output)} at {dict(zip(case.inputs, row, strict=True))}")
                raise


@law(sample=100, drawn=st.sampled_from(RULES).flatmap(_graphs_for))
def a_rule_alone_keeps_every_bit(drawn: tuple[str, GraphCase]) -> None:
    """A single rule keeps dtype, shape and every bit of a graph's results, for all dtypes and numbers."""
    rule, case = drawn
    _check(case, Selection("none").including(rule))


@law(sample=100, case=random_graphs())
def all_rules_together_keep_every_bit(case: GraphCase) -> None:
    """All rules together keep dtype, shape and every bit of a graph's results, for all dtypes and numbers."""
    _check(case, Selection("all"))


@law(sample=60, case=random_graphs())
def numerical_errors_are_raised_only_at_run_time(case: GraphCase) -> None:
    """Expressions without a value, such as an integer to a negative power, are rewritten like any other."""
    rewritten(case.failing, Selection("all"))


@law(sample=40, case=random_graphs(among=UNSAFE_OPERATIONS, moderate=True))
def unsafe_rules_keep_dtypes_shapes_and_finite_values(case: GraphCase) -> None:
    """Unsafe rules keep dtype and shape; finite values change by rounding alone."""
    made = [output for node in toposort(case.outputs) for output in node.outputs]
    after = rewritten(made, Selection("none").including(UNSAFE))
    for row in case.rows:
        before = dict(zip(made, values_of(made, case.inputs, row), strict=True))
        for mine, output in zip(values_of(after, case.inputs, row), made, strict=True):
            theirs = before[output]
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, written(output)
            if _is_plain(output, before):
                assert_close(mine, theirs, written(output), ROUNDING.get(theirs.dtype.name, 0))


def _is_plain(output: Variable, values: Mapping[Variable, Array]) -> bool:
    """Return whether rounding is small in an output: of two operations, or three but in float16, of finite numbers."""
    nodes = toposort([output])
    found = [values[variable] for node in nodes for variable in node.outputs]
    most = 2 if any(array.dtype == "float16" for array in found) else 3
    count = sum(node.op.declaration in UNSAFE_OPERATIONS for node in nodes)
    return count <= most and all(np.isfinite(array).all() for array in found)


def _is_one_operation(node: Apply, inputs: Sequence[Variable]) -> bool:
    return all(variable in inputs or isinstance(variable, Constant) for variable in node.inputs)


@law(sample=200, seed=st.integers(0, 2**32 - 1))
def a_batched_meaning_is_the_operation_on_each_row(seed: int) -> None:
    """Each operation over a new leading axis agrees with the operation on each row, for every dtype and choice of operands.

    Where operands do not fit, and a row alone is an error, all rows together are one too.
    """
    rng = Random(seed)
    pool = FreshOperands(rng)
    try:
        node = ROWS[rng.choice([row for row in ROWS if row in BATCHING])](pool).owner
    except (ScanvizError, UnfitError):
        return
    if node is None or not _is_one_operation(node, pool.inputs):
        return
    count = rng.choice((0, 1, 2, 3))
    has = {variable: rng.choice((False, True)) for variable in pool.inputs}
    has[rng.choice(pool.inputs)] = True
    sizes = _sizes(rng, pool) if count else {}  # of no rows none fails
    values = {x: [pool.value(x, sizes.get(x)) for _ in range(max(count, 1))] for x in pool.inputs}
    outer = {x: T.tensor(tensor_type(x).dtype, (None, *tensor_type(x).shape)) if has[x] else x for x in has}
    rows = [has.get(variable, False) for variable in node.inputs]
    found = batched(node, [outer.get(variable, variable) for variable in node.inputs], rows)
    if found is None:
        return
    assert tensor_type(found).dtype == tensor_type(node.outputs[0]).dtype
    every = {outer[x]: np.stack(values[x])[:count] if has[x] else values[x][0] for x in has}
    if sizes and _fails(node, {x: values[x][0] for x in has}):
        assert _fails_together(found, every), f"a value where {written(node.outputs[0])} fails at {values}"
        return
    alone = [valued([node], {x: values[x][k if has[x] else 0] for x in has}) for k in range(count)]
    expected = [values[node.outputs[0]] for values in alone if values is not None]
    if len(expected) < count:
        return  # no value there, or none that machines agree on
    mine = evaluate(found, every)
    what = f"{written(node.outputs[0])} with rows {rows} at {values}: {written(found)}"
    assert mine.shape[0] == count, f"{mine.shape[0]} rows and not {count}, of {what}"
    for one, row in zip(mine, expected, strict=True):
        assert_close(one, row, what)


def _sizes(rng: Random, pool: FreshOperands) -> dict[Variable, int]:
    """Return now and then for one input, of sizes that are not known, a size that is not that of the others."""
    free = [x for x in pool.inputs if tensor_type(x).shape and set(tensor_type(x).shape) == {None}]
    if not free or rng.random() < 0.7:
        return {}
    return {rng.choice(free): rng.choice([size for size in (1, 2, 3) if size != pool.size])}


def _fails(node: Apply, known: dict[Variable, Array]) -> bool:
    given = [
        variable.value if isinstance(variable, Constant) else known[variable] for variable in node.inputs
    ]
    try:
        with np.errstate(all="ignore"):
            node.op.perform(given)
    except (ScanvizError, ValueError):
        return True
    return False


def _fails_together(found: Variable, given: dict[Variable, Array]) -> bool:
    try:
        evaluate(found, given)
    except (ScanvizError, ValueError):
        return True
    return False


def _built_anew(node: Apply, inputs: Sequence[Variable]) -> Apply:
    """Return an operation as written in the step: variables built before the loop are captured."""
    owner = build(node.op, inputs)[0].owner
    assert owner is not None
    return owner


TIERS = st.sampled_from([Mode("reference", "all"), Mode("numpy", "all"), Mode("numpy", "none")])


@law(sample=15, case=random_graphs(most=5, rows=3, moderate=True), mode=TIERS)
def a_graph_has_the_same_result_as_a_step_and_alone(case: GraphCase, mode: Mode) -> None:
    """A graph as the step of a loop has in each step the result that it has alone, and a sum has the sum's dtype."""
    kinds = [tensor_type(variable) for variable in case.inputs]
    sequences = [T.tensor(kind.dtype, (None, *kind.shape)) for kind in kinds]
    starts = [T.constant(np.zeros(array.shape, array.dtype)) for array in case.expected[0]]

    def step(*given: Variable) -> list[Variable]:
        inside = dict(zip(case.inputs, given, strict=False))
        made = replace(case.outputs, inside, rebuild_node=_built_anew, check=False)
        return [*made, *(a + b for a, b in zip(given[len(inside) :], made, strict=True))]

    results, _ = scan(step, sequences, [*[None] * len(starts), *starts], return_list=True)
    wanted = [*results[: len(starts)], *(result[-1] for result in results[len(starts) :])]
    compiled = function(sequences, wanted, mode=mode, on_unused_input="ignore")
    found = compiled(*(np.stack(rows) for rows in zip(*case.rows, strict=True)))
    totals = list(case.expected[0])
    with np.errstate(all="ignore"):
        for row in case.expected[1:]:
            totals = [a + b for a, b in zip(totals, row, strict=True)]
    expected = [*(np.stack(rows) for rows in zip(*case.expected, strict=True)), *totals]
    for mine, theirs, output in zip(found, expected, case.outputs * 2, strict=True):
        try:
            assert_close(mine, theirs)
        except AssertionError as error:
            error.add_note(written(output))
            raise


@law(sample=30, case=random_graphs(most=8), rewrites=st.sampled_from(["all", "none"]))
def the_numpy_tier_agrees_with_the_meaning_of_operations(case: GraphCase, rewrites: str) -> None:
    """The numpy tier gives every operation's NumPy result bit for bit, for every dtype and special value."""
    outputs = [output + T.zeros_like(output) if output in case.inputs else output for output in case.outputs]
    compiled = function(case.inputs, outputs, mode=Mode("numpy", rewrites), on_unused_input="ignore")
    for row, expected in zip(case.rows, case.expected, strict=True):
        for mine, theirs, output in zip(compiled(*row), expected, case.outputs, strict=True):
            if output not in case.inputs:
                try:
                    assert_same_bits(mine, theirs)
                except AssertionError as error:
                    error.add_note(f"{written(output)} at {dict(zip(case.inputs, row, strict=True))}")
                    raise
