"""The operations of a step in a kernel: elementwise work and draws, arrays that are read where they lie, sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.kernel_draws import is_draw, parameters_of
from scanviz.engine.backends.cupy.kernel_rows import Index, StepNode, StepRows, digit
from scanviz.engine.backends.cupy.kernel_support import KERNEL, How, NotFusedError, how_of
from scanviz.engine.graph.axes import same_ends
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index_pattern import INPUT, IndexParameters
from scanviz.engine.ops.support import float_dtype
from scanviz.engine.program.instructions import Instruction
from scanviz.engine.scalar.cuda_source import TYPES, converted, literal, primitive
from scanviz.engine.scalar.primitives import KINDS

# A row's product reads its factors from the cache, and blocks beyond the number of multiprocessors take turns.  So many bytes take
# some 12 µs on an H200 (42 bytes a nanosecond for each multiprocessor, by data sheet), as long as the launches of two calls.
MOST_PRODUCT_BYTES = 1 << 19
MULTIPROCESSORS = 128
FEW = 16  # so many results are each computed by the whole block, more by a thread each


class Operations(StepRows):
    """The rows of a step with its instructions as nodes."""

    def add(self, instruction: Instruction, is_invariant: bool) -> None:
        """Add an instruction of the step."""
        name, result = instruction.op.declaration.name, instruction.outputs[-1]
        given = instruction.inputs
        if is_draw(instruction):
            self.map(result, lambda index: self._draw(instruction, index))
            return
        match how_of(instruction.op):
            case How.MOVED:
                self._see_moved(instruction)
            case How.INDEXED:
                self._see_indexed(instruction)
            case How.JOINED:
                self._see_joined(instruction)
            case How.FOLDED:
                axes = _folded_axes(name, instruction, self.shape(given[0]), self.shape(result))
                keeps = len(self.shape(result)) == len(self.shape(given[0]))
                self._fold(name, result, given[0], axes, keeps)
            case How.SOFTMAX:
                self._softmax(name, result, given[0], instruction.op.parameters.axes)
            case How.PRODUCT:
                self._product(name, result, *given)
            case _:
                self.map(result, lambda index: self._elementwise(instruction, index), is_invariant)

    def _elementwise(self, instruction: Instruction, index: Index) -> str:
        result = instruction.outputs[0]
        given = [self.element(number, self.beside(number, index)) for number in instruction.inputs]
        dtypes = [self.dtype(number) for number in instruction.inputs]
        declaration = instruction.op.declaration
        if not isinstance(declaration, ElementwiseDeclaration) or declaration.name == "cast":
            return converted(given[0], dtypes[0], self.dtype(result))
        computed, block = declaration.block(*dtypes)
        arguments = [converted(*one) for one in zip(given, dtypes, computed, strict=True)]
        found = f"{self.functions.name_for(declaration.name, block)}({', '.join(arguments)})"
        return converted(found, block.dtypes[block.results[0]], self.dtype(result))

    def _draw(self, draw: Instruction, index: Index) -> str:
        drawn = draw.outputs[1]
        stream = self.draws.stream(draw)
        state = f"({self.draws.state(draw, self.stream(stream.kind, stream.number))})"
        parameters = [self.element(number, self.beside(number, index)) for number in parameters_of(draw)]
        fits = self.draws.check(draw, parameters)
        value = self.draws.value(
            draw, state, f"(unsigned long long){self.whole_flat(drawn, index)}", parameters
        )
        if fits is None:
            return value
        self.checks = True
        return f"({fits} ? {value} : (done[2] = 1, ({TYPES[self.dtype(drawn)]})0))"

    # views

    def _see_moved(self, instruction: Instruction) -> None:
        name, given, result = instruction.op.declaration.name, instruction.inputs[0], instruction.outputs[0]
        if name == "dimshuffle":
            order = instruction.op.parameters.order

            def turned(index: Index) -> Index:
                found = ["0"] * len(self.shape(given))
                for place, axis in zip(index, order, strict=True):
                    if axis is not None:
                        found[axis] = place
                return tuple(found)

            self.see(result, lambda index: self.element(given, turned(index)))
        elif name == "reshape":
            self.see(result, lambda index: self.element(given, self._reshaped(given, result, index)))
        else:  # broadcast at most
            self.see(result, lambda index: self.element(given, self.beside(given, index)))

    def _reshaped(self, given: int, result: int, index: Index) -> Index:
        """Return the place in an array of a place in its reshaped form; first and last axes that stay are passed on."""
        old, new = self.shape(given), self.shape(result)
        first, last = same_ends(old, new)
        flat = "0"
        for place, size in zip(index[first : len(new) - last], new[first : len(new) - last], strict=True):
            if size != 1:
                flat = place if flat == "0" else f"({flat} * {size} + {place})"
        sizes = old[first : len(old) - last]
        middle = ["0" if size == 1 else digit(flat, sizes, k) for k, size in enumerate(sizes)]
        return (*index[:first], *middle, *index[len(new) - last :])

    def _see_indexed(self, instruction: Instruction) -> None:
        given, *numbers = instruction.inputs
        pattern: IndexParameters = instruction.op.parameters
        if any(
            entry.kind == "array" or (entry.kind == "slice" and INPUT in entry.numbers())
            for entry in pattern.entries
        ):
            raise NotFusedError("an index has no code in a kernel")
        inputs, sizes = iter(numbers), iter(self.shape(given))
        # a number, the register of one, the start and step of a slice, or None for a new axis
        parts: list[str | int | tuple[int, int] | None] = []
        for entry in pattern.entries:
            if entry.kind == "newaxis":
                parts.append(None)
                continue
            size = next(sizes)
            if entry.kind == "slice":
                start, _, step = slice(*entry.numbers()).indices(size)
                parts.append((start, step))
            elif entry.start == INPUT:
                parts.append(self._checked_place(next(inputs), size))
            else:
                assert isinstance(entry.start, int)
                place = entry.start + (size if entry.start < 0 else 0)
                if not 0 <= place < size:
                    raise NotFusedError("an index is out of range")
                parts.append(str(place))

        def place_of(index: Index) -> Index:
            left, found = iter(index), []
            for part in parts:
                if isinstance(part, str | int):
                    found.append(part if isinstance(part, str) else self.element(part, ()))
                    continue
                along = next(left)
                if part is not None:
                    start, step = part
                    found.append(along if part == (0, 1) else f"({start} + {along} * ({step}))")
            return tuple(found)

        self.see(instruction.outputs[0], lambda index: self.element(given, place_of(index)))

    def _checked_place(self, number: int, size: int) -> int:
        """Return the register of an index's place, computed once a step, even if nothing reads it; one out of range is reported."""
        self.checks = True
        self.functions.add(
            "__device__ inline long long sv_place(long long v, long long size, long long* done) {\n"
            "  v = v < 0 ? v + size : v;\n"
            "  if (v < 0 || v >= size) { done[2] = 1; v = 0; }\n"
            "  return v;\n}"
        )
        place = self.more((), "int64", ())
        self.map(place, lambda index: f"sv_place({self.element(number, ())}, {size}, done)")
        return place

    def _see_joined(self, instruction: Instruction) -> None:
        axis, result = instruction.op.parameters.axis, instruction.outputs[0]
        axis += len(self.shape(result)) if axis < 0 else 0
        parts = list(instruction.inputs)

        def text(index: Index) -> str:
            place, end = index[axis], sum(self.shape(number)[axis] for number in parts)
            found = ""
            for number in reversed(parts):
                size = self.shape(number)[axis]
                end -= size
                if not size:
                    continue
                own = "0" if size == 1 else f"({place} - {end})"
                there = self.element(number, (*index[:axis], own, *index[axis + 1 :]))
                there = converted(there, self.dtype(number), self.dtype(result))
                found = there if not found else f"({place} < {end + size} ? {there} : {found})"
            return found

        self.see(result, text)

    # folds

    def _fold(self, name: str, result: int, given: int, axes: Sequence[int], keeps: bool) -> None:
        """Add a sum, product, maximum, … of an array along axes."""
        sizes = [self.shape(given)[axis] for axis in axes]
        if name in ("max", "min") and 0 in sizes:
            raise NotFusedError("there is no largest or smallest of no elements")
        dtype, old = self.dtype(result), self.dtype(given)

        def term(index: Index, places: Sequence[str]) -> str:
            own = dict(zip(axes, places, strict=True))
            kept = iter(index)
            found = []
            for axis in range(len(self.shape(given))):
                if axis in own:
                    if keeps:
                        next(kept)
                    found.append(own[axis])
                else:
                    found.append(next(kept))
            return converted(self.element(given, tuple(found)), old, dtype)

        self._folded(name, result, sizes, term)

    def _folded(
        self, name: str, result: int, sizes: Sequence[int], term: Callable[[Index, Sequence[str]], str]
    ) -> None:
        """Add a node of combined terms; ``term(index, places)`` is the term at places along the axes that go."""
        dtype, inside, length = self.dtype(result), self.inside(result), prod(sizes)
        if dtype == "float16":
            raise NotFusedError("sums of float16 have no code in a kernel")
        made, combine = TYPES[dtype], self._combining(name, dtype)
        index, register = self.loop_index(result), self.new_name(result)
        places = [digit("k", sizes, axis) for axis in range(len(sizes))]
        start = literal(_neutral(name, dtype), dtype)

        def serial() -> list[str]:
            return [
                f"{self.over(inside)} {{",
                f"  {made} x = {start};",
                f"  for (int k = 0; k < {length}; ++k) x = {combine}(x, {term(index, places)});",
                f"  {register}_all[e] = x;",
                "}",
            ]

        def together() -> list[str]:
            over_block = f"sv_over_block<{made}, {combine}>(x, {self.one_per_thread(dtype)})"
            lines = [
                f"{made} x = {start};",
                f"for (int k = threadIdx.x; k < {length}; k += blockDim.x) x = {combine}(x, {term(index, places)});",
            ]
            if not inside:
                return [
                    f"{made} {register};",
                    "{",
                    *(f"  {line}" for line in lines),
                    f"  {register} = {over_block};",
                    "}",
                ]
            return [
                f"for (int e = 0; e < {prod(inside)}; ++e) {{",
                *(f"  {line}" for line in lines),
                f"  x = {over_block};",
                f"  if (threadIdx.x == 0) {register}_all[e] = x;",
                "}",
            ]

        def alone() -> list[str]:
            return [
                f"{made} {register} = {start};",
                f"for (int k = 0; k < {length}; ++k) {register} = {combine}({register}, {term(index, places)});",
            ]

        if not self.is_used or (not inside and length <= FEW):
            lines = alone
        else:
            lines = serial if prod(inside) > FEW else together
        self.add_node(StepNode("fold", result, inside, lines))

    def _combining(self, name: str, dtype: str) -> str:
        """Return the name of the function that combines two terms."""
        made, combine = TYPES[dtype], KERNEL[name].combine
        function = f"sv_{combine}_{dtype}"
        if name in ("max", "min"):
            sign = ">" if name == "max" else "<"
            nan = " || b != b" if KINDS[dtype] == "floating" else ""
            text = f"b {sign} a{nan} ? b : a"
        elif name in ("all", "any"):
            text = f"a {'&&' if name == 'all' else '||'} b"
        elif dtype == BOOLEAN:
            text = f"a {'||' if combine == 'add' else '&&'} b"
        else:
            text = primitive(combine, ["a", "b"], dtype)
        self.functions.add(f"__device__ inline {made} {function}({made} a, {made} b) {{ return {text}; }}")
        return function

    def _softmax(self, name: str, result: int, given: int, axes: Sequence[int]) -> None:
        """Add a softmax or its logarithm, by the steps of the other tiers."""
        shape, along = self.shape(result), self.along(result)
        axes = [axis % len(shape) for axis in axes]
        dtype = float_dtype(self.dtype(given))
        shorter = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        kept = tuple(None if axis in axes else one for axis, one in enumerate(along))
        floats, largest = self.more(shape, dtype, along), self.more(shorter, dtype, kept)
        shifted, powers = self.more(shape, dtype, along), self.more(shape, dtype, along)
        total = self.more(shorter, dtype, kept)
        self.see(floats, lambda index: converted(self.element(given, index), self.dtype(given), dtype))
        if 0 in shape:
            raise NotFusedError("there are no elements")
        self._fold("max", largest, floats, axes, keeps=True)
        least = literal(np.finfo(dtype).min, dtype)

        def less_largest(index: Index) -> str:
            most = self.element(largest, self.beside(largest, index))
            return f"{self.element(floats, index)} - ({most} < {least} ? {least} : {most})"

        self.map(shifted, less_largest)
        self.map(powers, lambda index: primitive("exp", [self.element(shifted, index)], dtype))
        self._fold("sum", total, powers, axes, keeps=True)

        def sum_of(index: Index) -> str:
            found = self.element(total, self.beside(total, index))
            one = literal(np.dtype(dtype).type(1), dtype)
            return f"({found} < {one} ? {one} : {found})"

        if name == "softmax":
            self.map(result, lambda index: f"{self.element(powers, index)} / {sum_of(index)}")
        else:
            self.map(
                result,
                lambda index: f"{self.element(shifted, index)} - {primitive('log', [sum_of(index)], dtype)}",
            )

    def _product(self, name: str, result: int, one: int, other: int) -> None:
        """Add a product of vectors, matrices or stacks of matrices."""
        first, second, dtype = self.shape(one), self.shape(other), self.dtype(result)
        if name == "dot" and (max(len(first), len(second)) > 2 or not first or not second):
            raise NotFusedError("a product of arrays with many axes has no code in a kernel")
        length = first[-1]
        turns = -(-prod(self.elements.sizes) // MULTIPROCESSORS)
        work = turns * prod(self.inside(result)) * length * np.dtype(dtype).itemsize
        if work > MOST_PRODUCT_BYTES:
            raise NotFusedError("a product is faster as a call of cuBLAS")
        rows, columns = len(first) > 1, len(second) > 1

        def term(index: Index, places: Sequence[str]) -> str:
            (k,) = places
            stack = index[: len(index) - rows - columns]
            left = (*stack, *index[len(stack) : len(stack) + rows], k)
            right = (*stack, k, *index[len(index) - columns :]) if columns else (*stack, k)
            a = self.element(one, self.beside(one, left))
            b = self.element(other, self.beside(other, right))
            return primitive(
                "multiply",
                [converted(a, self.dtype(one), dtype), converted(b, self.dtype(other), dtype)],
                dtype,
            )

        if dtype == BOOLEAN:
            raise NotFusedError("a product of truth values has no code in a kernel")
        self._folded("sum", result, [length], term)


def _neutral(name: str, dtype: str) -> Any:
    """Return what changes nothing where it is combined."""
    kind = np.dtype(dtype)
    if name in ("max", "min"):
        if kind.kind == "b":
            return kind.type(name == "min")
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        if kind.kind == "f":
            return kind.type(-np.inf if name == "max" else np.inf)
        return kind.type(limits.min if name == "max" else limits.max)
    return kind.type(name in ("prod", "all"))


def _folded_axes(
    name: str, instruction: Instruction, given: Sequence[int], made: Sequence[int]
) -> Sequence[int]:
    if name == "sum_to_shape":
        return [axis for axis, (old, new) in enumerate(zip(given, made, strict=True)) if old != new]
    axes = instruction.op.parameters.axes
    return [axis % len(given) for axis in axes] if axes is not None else list(range(len(given)))
