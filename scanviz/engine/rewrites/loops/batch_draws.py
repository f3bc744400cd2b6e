"""Random draws that leave a loop: the numbers of all steps as one draw before it, which the loop reads as a sequence.

The draws of a step take a fixed stride of the generator (:func:`chains_of`), so step ``t`` begins ``t`` strides after the
first.  One draw of as many rows as there are steps, each as long as a stride, holds the very numbers that the loop would have
drawn: those of a step's draw lie in its row, behind what stands for the draws before it.  What a row holds besides is thrown
away.  The state after the large draw is the state after all steps.

It is written with the draws and indices that there are, so every tier has it; draws of one distribution that share a state are
one large draw once equal operations are merged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build, describe, tensor_type
from scanviz.engine.graph.provenance import moved_from
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.elementwise import maximum
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.random import STATE_WORDS, is_draw, parameters_by_category, words_of_element
from scanviz.engine.ops.shape import alloc, reshape
from scanviz.engine.ops.sizes import as_size, size_of, surely_not_negative
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.formatting import counted
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import (
    drawn_name,
    nobody_checks,
    own_tier,
    random_states,
    results_left,
    stays_in_step,
    unread_sequence,
)
from scanviz.engine.rewrites.loops.profitability import (
    MOST_GROWTH,
    MOST_ROW_BYTES,
    SHORT_ROW,
    elements,
    is_short,
)
from scanviz.engine.rewrites.loops.rows import most_dimensions
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.dependence import is_known, known_from
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import Carry, LoopVariable, inner_outputs
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import SIZES, Dim


@rule(name="batch_draws", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def batch_draws(node: Apply, level: Level) -> Match | Refusal | None:
    """Draw the random numbers of all steps at once, before the loop."""
    view = ScanView(node)
    op = view.op
    if not random_states(op):
        return None
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    if op.until is not None:
        return Refusal(f"`{op.scan_name}` may end early: numbers would be drawn that no step reads", 1)
    if level.target.why_numpy(op) is None:
        return Refusal(stays_in_step(op), 1)

    fitting: list[Chain] = []
    refusals: list[Refusal] = []
    for found in chains_of(view):
        answer = found if isinstance(found, Refusal) else _too_much(found, view, level) or found
        (refusals if isinstance(answer, Refusal) else fitting).append(answer)  # type: ignore[arg-type]
    if not fitting:
        return max(refusals, key=lambda refusal: refusal.preconditions_met)
    gone = [chain.carry for chain in fitting]
    if not results_left(op, gone):
        if (unread := unread_sequence(view)) is not None:
            return Refusal(nobody_checks(unread), 3)
        if not _counts(view):
            return Refusal("nothing but the loop looks whether its number of steps is negative", 3)
    return _drawn_before(view, fitting)


def _counts(view: ScanView) -> bool:
    """Return whether the number of steps is surely not negative."""
    steps = constant_integer(view.n_steps)
    return surely_not_negative(view.n_steps if steps is None else steps)


def _too_much(chain: Chain, view: ScanView, level: Level) -> Refusal | None:
    """Return why the numbers of all steps would take too much memory, or as much time as the loop; None where it is well."""
    steps, most = constant_integer(view.n_steps), most_dimensions(view, level)
    total = 0
    for draw in chain.draws:
        values = draw.node.outputs[1]
        if not is_short(values):
            why = f"`{drawn_name(draw.node)}` has more than {SHORT_ROW} numbers: a draw of its own for each step costs no more"
            return Refusal(why, 4)
        unknown = elements(values) is None
        if (steps is None and most is None) or (unknown and tensor_type(values).ndim > (most or 0)):
            why = f"the numbers of `{drawn_name(draw.node)}` may take much more memory than all that the loop reads and gives"
            return Refusal(why, 4)
        if steps is not None and isinstance(draw.stride, int):
            total += steps * draw.stride * tensor_type(values).itemsize
    if total > MOST_ROW_BYTES:
        return Refusal(f"the numbers of all steps would take {total} bytes, more than {MOST_ROW_BYTES}", 4)
    return None


def _drawn_before(view: ScanView, chains: Sequence[Chain]) -> Match:
    """Return the loop that reads the numbers of its draws as sequences."""
    op = view.op
    read = {variable for node in toposort(op.inner_outputs) for variable in node.inputs}
    read |= {output for variable in op.variables for output in inner_outputs(variable)}
    mapping: dict[Variable, Variable] = {}
    rows: dict[LoopVariable, Variable] = {}
    values: dict[Variable, Variable] = {}
    for chain in chains:
        state = view.outer(chain.carry)
        for draw in chain.draws:
            drawn = draw.node.outputs[1]
            following, numbers = _numbers(draw, state, view)
            mapping.setdefault(view.result(chain.carry), following)
            if drawn in read:
                kind, name = tensor_type(numbers), drawn_name(draw.node)
                sequence = LoopSequence(name, Variable(kind.with_shape(kind.shape[1:]), name))
                rows[sequence], values[drawn] = numbers, sequence.slice
    gone = [chain.carry for chain in chains]
    if results_left(op, gone):
        added = list(rows)
        _, results = rebuilt_loop(view, dict.fromkeys(gone), added=added, outer=rows, values=values)
        mapping.update(results)
    names = counted(draw.node.op.name for chain in chains for draw in chain.draws)
    return Match(mapping, f"{names} of all steps at once, before `{op.scan_name}`")


def _numbers(draw: StepDraw, state: Variable, view: ScanView) -> tuple[Variable, Variable]:
    """Return the state after all steps, and the numbers that a draw has at each: its shape, with steps first."""
    node, count, begin = draw.node, draw.count, draw.begin
    with moved_from(node.provenance, node.node_id):
        steps = view.n_steps if _counts(view) else maximum(view.n_steps, 0)
        op = Op(node.op.declaration, node.op.parameters._replace(sizes=2))
        following, rows = build(op, [state, steps, as_size(draw.stride), *_row_parameters(draw)])
        if not draw.sizes:
            return following, getitem(rows, (slice(None), as_size(begin)))
        if count != draw.stride:
            rows = getitem(rows, (slice(None), slice(as_size(begin), as_size(SIZES.add(begin, count)))))
        if len(draw.sizes) > 1:
            rows = reshape(rows, [steps, *(as_size(size) for size in draw.sizes)])
        return following, rows


def _row_parameters(draw: StepDraw) -> list[Variable]:
    """Return the parameters of a draw for a row as long as a stride; where it is not read they are the first ones again."""
    from scanviz.engine.ops.random import parameters_by_category

    found = []
    for parameter, by_category in zip(draw.parameters, parameters_by_category(draw.node.op), strict=False):
        if tensor_type(parameter).ndim == by_category:
            found.append(parameter)
            continue
        own = reshape(alloc(parameter, list(draw.sizes)), (draw.count,))
        rest = draw.stride - draw.begin - draw.count
        filled = [alloc(getitem(own, 0), [size]) for size in (draw.begin, rest)]
        found.append(concatenate([filled[0], own, filled[1]]) if draw.count != draw.stride else own)
    return found


_BLOCK = 8  # words of 32 bits


class StepDraw(Struct, frozen=True):
    """A draw of a step; counts are ints, or polynomials of sizes that are known before the loop.

    Attributes
    ----------
    node : Apply
        The draw.
    sizes : tuple of Dim
        Its shape.
    blocks_before : Dim
        Blocks that the step takes of its state before it.
    blocks_of_step : Dim
        Blocks that the step takes of its state in all.
    parameters : tuple of Variable
        Its parameters as they are before the loop.
    """

    node: Apply
    sizes: tuple[Dim, ...]
    blocks_before: Dim
    blocks_of_step: Dim
    parameters: tuple[Variable, ...]

    @property
    def count(self) -> Dim:
        """How many elements it draws."""
        return SIZES.product(self.sizes)

    @property
    def begin(self) -> Dim:
        """How many of its elements what the step takes before it would be."""
        return self._elements(self.blocks_before)

    @property
    def stride(self) -> Dim:
        """How many of its elements all that the step takes would be."""
        return self._elements(self.blocks_of_step)

    def _elements(self, blocks: Dim) -> Dim:
        return SIZES.floor_divide(SIZES.multiply(blocks, _BLOCK), words_of_element(self.node.op))

    @property
    def is_whole(self) -> bool:
        """Whether what the step takes before it, and in all, is surely a whole number of its elements."""
        words = words_of_element(self.node.op) or 1
        counts = (self.blocks_before, self.blocks_of_step)
        return words <= _BLOCK or all(isinstance(n, int) and n * _BLOCK % words == 0 for n in counts)


class Chain(Struct, frozen=True):
    """The draws of one random state in a step, in order."""

    carry: Carry
    draws: tuple[StepDraw, ...]


def chains_of(view: ScanView) -> list[Chain | Refusal]:
    """Return, for each random state that a loop carries, its draws; or why they are not known before the loop."""
    step = _Step.of(view)
    return [step.chain(carry) for carry in random_states(view.op)]


class _Step(Struct, frozen=True):
    """A step: its nodes, what every step computes of them, and what is known before the loop, as it is there."""

    view: ScanView
    nodes: list[Apply]
    always: Collection[Apply]
    before: Mapping[Variable, Variable]

    @classmethod
    def of(cls, view: ScanView) -> _Step:
        """Find what is the same at every step among all that draws read."""
        nodes = toposort(view.op.inner_outputs)
        given = view.fixed
        fixed = known_from(view.op, given, nodes)
        read = dict.fromkeys(variable for node in nodes if is_draw(node.op) for variable in node.inputs[1:])
        wanted = [variable for variable in read if is_known(variable, fixed)]
        before = dict(zip(wanted, replace(wanted, given, check=False), strict=True))
        return cls(view, nodes, always_computed(view.op.inner_outputs), before)

    def chain(self, carry: Carry) -> Chain | Refusal:
        """Follow a random state from draw to draw through a step."""
        begins: dict[Variable, Dim] = {carry.read: 0}
        found: list[tuple[Apply, tuple[Dim, ...]]] = []
        for node in self.nodes:
            if not any(variable in begins for variable in node.inputs):
                continue
            sizes = self._drawn(node)
            if isinstance(sizes, Refusal):
                return sizes
            begins[node.outputs[0]] = SIZES.add(begins[node.inputs[0]], _blocks(node, sizes))
            found.append((node, sizes))
        results = [result for result in self.view.op.inner_outputs if result in begins]
        if carry.write not in begins or len(results) != 1 or not found:
            return Refusal(f"`{carry.name}` is not handed on by draws alone", 1)
        draws = tuple(
            StepDraw(node, sizes, begins[node.inputs[0]], begins[carry.write], self._parameters(node))
            for node, sizes in found
        )
        return next((refusal for draw in draws if (refusal := _why_not(draw))), None) or Chain(carry, draws)

    def _drawn(self, node: Apply) -> tuple[Dim, ...] | Refusal:
        """Return the shape that a reader of a random state draws at every step, or why that is not said."""
        name = drawn_name(node)
        if not is_draw(node.op):
            kept = node.op.declaration is STATE_WORDS
            why = "a gradient draws again from the states of all steps" if kept else "more than draws read it"
            return Refusal(f"the random state of `{name}` stays in the loop: {why}", 2)
        if node not in self.always:
            return Refusal(f"only a branch of an ifelse draws `{name}`", 2)
        if words_of_element(node.op) is None:
            return Refusal(f"the numbers of one draw of `{name}` depend on one another", 2)
        count = node.op.parameters.sizes
        for parameter in node.inputs[1 + count :]:
            if parameter not in self.before:
                return Refusal(
                    f"`{describe(parameter)}`, of which `{name}` is drawn, changes from step to step", 3
                )
        shape = tensor_type(node.outputs[1]).shape
        sizes = tuple(
            size if size is not None else size_of(self.before[given]) if given in self.before else None
            for size, given in zip(shape, node.inputs[1 : 1 + count], strict=True)
        )
        if None in sizes:
            return Refusal(f"the shape of `{name}` is not known before `{self.view.op.scan_name}`", 3)
        return sizes

    def _parameters(self, node: Apply) -> tuple[Variable, ...]:
        return tuple(self.before[operand] for operand in node.inputs[1 + node.op.parameters.sizes :])


def _blocks(node: Apply, sizes: tuple[Dim, ...]) -> Dim:
    """Return the blocks that a draw of a shape takes."""
    words = SIZES.multiply(SIZES.product(sizes), words_of_element(node.op))
    return SIZES.floor_divide(SIZES.add(words, _BLOCK - 1), _BLOCK)


def _why_not(draw: StepDraw) -> Refusal | None:
    """Return what is in the way of drawing the rows of all steps, None if nothing is."""
    name, count = drawn_name(draw.node), draw.count
    known = all(isinstance(number, int) for number in (count, draw.begin, draw.stride))
    for parameter, by_category in zip(draw.parameters, parameters_by_category(draw.node.op), strict=False):
        ndim = tensor_type(parameter).ndim - by_category
        if ndim and (by_category or not known or not count):
            return Refusal(f"`{describe(parameter)}`, of which `{name}` is drawn, is no scalar", 3)
    if not draw.is_whole:
        return Refusal(f"`{name}` shares its random state with draws that are counted otherwise", 3)
    if known and draw.stride > MOST_GROWTH * max(count, 1):
        return Refusal(
            f"a step draws more than {MOST_GROWTH} times as much of the random state of `{name}`", 4
        )
    return None
