"""Use of a loop's random states by draws in its step: the offset of each draw, and the advance per step.

The generator counts: how many of its blocks, of four words of 64 bits each, a draw takes follows from its shape alone
(:func:`scanviz.engine.ops.random.words_of_element`).  So the draws of one state are a chain of fixed length, the *stride* of a
step, as long as their shapes are the same at every step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, describe, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.random import STATE_WORDS, is_draw, parameters_by_category, words_of_element
from scanviz.engine.ops.sizes import size_of
from scanviz.engine.rewrites.loops.loop_facts import MOST_GROWTH, drawn_name, random_states
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.dependence import is_known, known_from
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import Carry
from scanviz.engine.sizes.dims import SIZES, Dim

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
        """Number of elements drawn."""
        return SIZES.product(self.sizes)

    @property
    def begin(self) -> Dim:
        """The blocks taken before it, in elements of this draw."""
        return self._elements(self.blocks_before)

    @property
    def stride(self) -> Dim:
        """The blocks taken by a step, in elements of this draw."""
        return self._elements(self.blocks_of_step)

    def _elements(self, blocks: Dim) -> Dim:
        return SIZES.floor_divide(SIZES.multiply(blocks, _BLOCK), words_of_element(self.node.op))

    @property
    def is_whole(self) -> bool:
        """True if both counts of blocks are surely whole numbers of its elements."""
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
    """A step: its nodes, those that every step computes, and the values that are known before the loop."""

    view: ScanView
    nodes: list[Apply]
    always: Collection[Apply]
    before: Mapping[Variable, Variable]

    @classmethod
    def of(cls, view: ScanView) -> _Step:
        """Find the inputs of draws that are the same at every step."""
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
            return Refusal(f"`{carry.name}` is changed by operations other than draws", 1)
        draws = tuple(
            StepDraw(node, sizes, begins[node.inputs[0]], begins[carry.write], self._parameters(node))
            for node, sizes in found
        )
        return next((refusal for draw in draws if (refusal := _why_not(draw))), None) or Chain(carry, draws)

    def _drawn(self, node: Apply) -> tuple[Dim, ...] | Refusal:
        """Return the shape that a node draws at every step, or why it is not batched."""
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
                    f"the parameter `{describe(parameter)}` of `{name}` changes from step to step", 3
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
    """Return why a draw cannot be batched over all steps, None if it can."""
    name, count = drawn_name(draw.node), draw.count
    known = all(isinstance(number, int) for number in (count, draw.begin, draw.stride))
    for parameter, by_category in zip(draw.parameters, parameters_by_category(draw.node.op), strict=False):
        ndim = tensor_type(parameter).ndim - by_category
        if ndim and (by_category or not known or not count):
            return Refusal(f"the parameter `{describe(parameter)}` of `{name}` is no scalar", 3)
    if not draw.is_whole:
        return Refusal(f"`{name}` shares its random state with draws that count differently", 3)
    if known and draw.stride > MOST_GROWTH * max(count, 1):
        return Refusal(
            f"a step draws more than {MOST_GROWTH} times as much of the random state of `{name}`", 4
        )
    return None
