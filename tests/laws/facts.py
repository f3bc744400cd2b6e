"""Laws of facts: declared facts of operations are true for all dtypes and numbers."""

from collections.abc import Mapping, Sequence

import numpy as np

from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, tensor_type
from scanviz.engine.graph.traversal import toposort
from tests.laws.law import law
from tests.support.graphs import GraphCase, random_graphs


@law(sample=150, case=random_graphs())
def facts_of_declarations_are_true(case: GraphCase) -> None:
    """Errors, signs, elements and memory of an operation's results agree with the facts of its declaration."""
    for row in case.rows:
        known: dict[Variable, Array] = dict(zip(case.inputs, row, strict=True))
        for node in toposort([*case.outputs, *case.failing]):
            if all(isinstance(variable, Constant) or variable in known for variable in node.inputs):
                given = [
                    variable.value if isinstance(variable, Constant) else known[variable]
                    for variable in node.inputs
                ]
                known.update(_checked(node, given))


def _checked(node: Apply, given: Sequence[Array]) -> dict[Variable, Array]:
    """Return the values of a node's outputs, nothing where it has none."""
    try:
        with np.errstate(all="ignore"):
            results = node.op.perform(given)
    except Exception as error:
        assert node.op.facts.raises or "broadcast" in str(error), f"{node.op} raised {error} at {given}"
        return {}
    found = [np.asarray(result) for result in results]
    _check_memory(node, given, found)
    if tensor_type(node.outputs[0]).dtype.startswith("float"):
        _check_values(node, given, found[0])
    _check_axes(node, given, found)
    return dict(zip(node.outputs, found, strict=True))


def _check_axes(node: Apply, given: Sequence[Array], found: Sequence[Array]) -> None:
    """Check that element i along an axis stays where all others, along the axes that it goes along, change places."""
    rule = node.op.facts.axes
    if rule is None:
        return
    shapes = [np.shape(array) for array in given], [array.shape for array in found]
    for k, (made, axes) in enumerate(zip(found, rule(node.op, *shapes), strict=True)):
        assert len(axes) == made.ndim, f"{node.op} is said to have {len(axes)} axes"
        for axis, along in enumerate(axes):
            if along and made.shape[axis] > 1 and made.size:
                _check_axis(node, given, (k, axis), along, made)


def _check_axis(
    node: Apply, given: Sequence[Array], place: tuple[int, int], along: Mapping[int, int], made: Array
) -> None:
    k, axis = place
    sizes = {np.shape(given[j])[at] for j, at in along.items()} | {made.shape[axis]}
    assert len(sizes) == 1, f"{node.op}: axes of sizes {sizes} are said to go along"
    kept = made.shape[axis] // 2
    changed = [_others_moved(array, along.get(j), kept) for j, array in enumerate(given)]
    try:
        with np.errstate(all="ignore"):
            again = np.asarray(node.op.perform(changed)[k])
    except Exception:
        return  # other numbers may be an error
    one, other = (np.take(array, kept, axis) for array in (made, again))
    close = np.allclose(one, other, 1e-6, 1e-12, equal_nan=True) if one.dtype.kind == "f" else (one == other)
    assert np.all(close), f"{node.op}: axis {axis} does not go along {along}: {one}, and {other} of {changed}"


def _others_moved(value: Array, axis: int | None, kept: int) -> Array:
    """Return an array whose elements along an axis change places, but for one."""
    if axis is None:
        return value
    moved = np.roll(value, 1, axis)
    index = (slice(None),) * axis + (kept,)
    moved[index] = np.asarray(value)[index]
    return moved


def _check_memory(node: Apply, given: Sequence[Array], found: Sequence[Array]) -> None:
    shared = [any(np.may_share_memory(mine, array) for array in given) for mine in found]
    fixed = any(mine.ndim and not mine.flags.writeable for mine in found)
    assert not (node.op.declaration.fresh and (fixed or any(shared))), f"{node.op} is said to give new arrays"
    size = found[0].size and found[0].ndim and np.ndim(given[0])
    assert shared[0] or not (size and node.op.facts.always_view), f"{node.op} is said to give views"
    assert not (shared[0] and node.op.facts.never_view), f"{node.op} is said to give no views"


def _check_values(node: Apply, given: Sequence[Array], found: Array) -> None:
    facts = node.op.facts
    assert not facts.same_elements or np.isin(found, given[0]).all() or np.isnan(found).any(), f"{node.op}"
    numbers = given[:1] if facts.same_elements else given
    kept = facts.sign == "kept" and all(np.all(np.asarray(number) >= 0) for number in numbers)
    if kept or facts.sign in ("not negative", "no minus zero"):
        assert not np.any(np.isfinite(found) & (found < 0)), f"{node.op} gives {found} of {given}"
    if facts.sign == "no minus zero":
        assert not np.any((found == 0) & np.signbit(found)), f"{node.op} gives -0.0 of {given}"
