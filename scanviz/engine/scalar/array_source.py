"""Blocks on arrays: a straight line of array functions, NumPy's or those of a module like it, one call for each line.

A loop runs over the elements that are not done.  Elements for which its condition has become false drop out of the arrays:
after an attempt that most elements accept, the next one costs little.  Functions that a table of intrinsics knows are called,
others are computed by their bodies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import BackendError
from scanviz.engine.scalar.blocks import Block, Statement
from scanviz.engine.scalar.primitives import KINDS

Arrays = Callable[..., tuple[Any, ...]]
# the language's name → that of the array function, where they differ
NAMES = {
    "divide": "true_divide",
    "quotient": "floor_divide",
    "remainder": "fmod",
    "negate": "negative",
    "bit_and": "bitwise_and",
    "bit_or": "bitwise_or",
    "bit_xor": "bitwise_xor",
    "bit_not": "invert",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "truncate": "trunc",
    "round_even": "rint",
    "select": "where",
}


class Target(Struct, frozen=True):
    """The array library and names that the source is written for.

    Attributes
    ----------
    module : module
        Has NumPy's functions of arrays.
    special : callable
        ``special(name)`` gives a special function by SciPy's name.
    intrinsics : mapping
        Functions of the language that are known here, by name.
    """

    module: Any
    special: Callable[[str], Callable[..., Any]]
    intrinsics: Mapping[str, Arrays]


def _of_scipy(name: str) -> Callable[..., Any]:
    import importlib

    try:
        found: Callable[..., Any] = getattr(importlib.import_module("scipy.special"), name)
        return found
    except ImportError as error:
        raise BackendError(
            f"{name} is computed by SciPy, which is not installed", fix="pip install scipy"
        ) from error


NUMPY = Target(np, _of_scipy, {})


@lru_cache(maxsize=512)
def on_arrays(block: Block) -> Arrays:
    """Return a block as a function of NumPy arrays that broadcast together, which gives a tuple of arrays.

    Examples
    --------
    >>> from scanviz.engine.scalar.blocks import typed
    >>> from scanviz.engine.scalar.expression import x
    >>> on_arrays(typed([x * x + 1], ["int8"]))(np.array([3, 100], "int8"))
    (array([10, 17], dtype=int8),)
    """
    return compiled(block, NUMPY)


def compiled(block: Block, target: Target) -> Arrays:
    """Return a block as a function of a target's arrays."""
    source = _Source(block, target)
    exec(compile(source.text(), "<scalar formula>", "exec"), source.namespace)
    made: Arrays = source.namespace["formula"]
    return made


class _Source:
    """Python source of a block."""

    def __init__(self, block: Block, target: Target) -> None:
        self.block, self.target = block, target
        self.namespace: dict[str, Any] = {}
        self.read = {*block.results, *(number for line in block.lines for number in line.inputs)}

    def text(self) -> str:
        """Return the source of a function called ``formula``."""
        arguments = ", ".join(f"v{k}" for k in range(self.block.arguments))
        last = self._last_uses()
        lines = [f"def formula({arguments}):"]
        for index, line in enumerate(self.block.lines):
            if line.op != "constant":
                lines.append("    " + self._line(line))
            done = [f"v{number}" for number in last.get(index, ())]
            if done:
                lines.append(f"    del {', '.join(done)}")
            if line.op == "constant":
                self._bind_constant(line)
        lines.append(f"    return ({', '.join(f'v{number}' for number in self.block.results)},)")
        return "\n".join(lines) + "\n"

    def _last_uses(self) -> dict[int, list[int]]:
        """Return the values that no line after a line reads: their memory is given back at once."""
        last: dict[int, int] = {}
        constants = {number for line in self.block.lines if line.op == "constant" for number in line.outputs}
        for index, line in enumerate(self.block.lines):
            last.update(dict.fromkeys((*line.inputs, *line.outputs), index))
        found: dict[int, list[int]] = {}
        for number, index in last.items():
            if number not in self.block.results and number not in constants:
                found.setdefault(index, []).append(number)
        return found

    def bind(self, hint: str, value: Any) -> str:
        """Return a global name for an object."""
        self.namespace[hint] = value
        return hint

    def _bind_constant(self, line: Statement) -> None:
        (number,) = line.outputs
        assert isinstance(line.data, bytes)
        self.bind(f"v{number}", np.frombuffer(line.data, self.block.dtypes[number])[0])

    def _line(self, line: Statement) -> str:
        given = ", ".join(f"v{number}" for number in line.inputs)
        targets = ", ".join(f"v{number}" for number in line.outputs)
        dtype = self.block.dtypes[line.outputs[0]]
        first = line.outputs[0]
        match line.op:
            case "cast":
                return f"{targets} = {given}.astype({dtype!r})"
            case "bitcast":
                return f"{targets} = {given}.view({dtype!r})"
            case "table":
                assert isinstance(line.data, bytes)
                values = self.target.module.asarray(np.frombuffer(line.data, dtype))
                return f"{targets} = {self.bind(f'table{first}', values)}[{given}]"
            case "call":
                function = self.target.intrinsics.get(str(line.data))
                if function is None:
                    function = compiled(line.blocks[0], self.target)
                return f"{targets}, = {self.bind(f'call{first}', function)}({given})"
            case "loop":
                going, step = (compiled(block, self.target) for block in line.blocks)
                dtypes = [self.block.dtypes[number] for number in line.outputs]
                read = [k for k, number in enumerate(line.outputs) if number in self.read]
                run = _loop(self.target.module, going, step, dtypes, read, int(str(line.data)))
                return f"{targets}, = {self.bind(f'loop{first}', run)}({given})"
            case "when":
                run_where = _where(self.target.module, compiled(line.blocks[0], self.target))
                return f"{targets} = {self.bind(f'when{first}', run_where)}({given})"
            case op:
                function = self._function(op, self.block.dtypes[line.inputs[-1]])
                return f"{targets} = {self.bind(f'{op}_{first}', function)}({given})"

    def _function(self, op: str, dtype: str) -> Any:
        if op == "multiply_high":
            return _wide_product if dtype == "uint64" else _product_through_64
        if op == "quotient" and KINDS[dtype] == "signed":
            return partial(_signed_quotient, self.target.module)
        name = NAMES.get(op, op)
        return getattr(self.target.module, name) if hasattr(np, name) else _special(op, dtype, self.target)


def _where(xp: Any, body: Arrays) -> Callable[..., Any]:
    """Return the function of a block that is computed where a condition is true."""

    def run(condition: Any, otherwise: Any, *given: Any) -> Any:
        shape = _common_shape(condition, otherwise, *given)
        (on,) = _line(xp, condition, shape).nonzero()
        if len(on) == math.prod(shape):
            return body(*given)[0]
        if not len(on):
            return otherwise
        found = xp.array(_line(xp, otherwise, shape))
        found[on] = body(*_taken([_line_or_number(xp, x, shape) for x in given], on))[0]
        return found.reshape(shape)

    return run


def _loop(
    xp: Any, going: Arrays, step: Arrays, dtypes: Sequence[str], read: Sequence[int], limit: int
) -> Callable[..., Sequence[Any]]:
    """Return the function of a loop with carried values of these dtypes; only the results ``read`` are wanted."""

    def run(*given: Any) -> Sequence[Any]:
        shape = _common_shape(*given)
        count = math.prod(shape)
        lines = [_line_or_number(xp, x, shape) for x in given]
        now, others = lines[: len(dtypes)], lines[len(dtypes) :]
        found: list[Any] = [xp.empty(count, dtypes[k]) if k in read else None for k in range(len(dtypes))]
        places = xp.arange(count)
        for done in itertools.count():
            on = _line(xp, going(*now, *others)[0], places.shape)
            if done == limit:
                on = xp.zeros_like(on)
            if not count or not on.all():
                (off,) = (~on).nonzero()
                ended = places.take(off)
                for k in read:
                    found[k][ended] = now[k].take(off) if now[k].ndim else now[k]
                (left,) = on.nonzero()
                if not len(left):
                    break
                places, now, others = places.take(left), _taken(now, left), _taken(others, left)
            now = [*step(*now, *others)]
        return [None if values is None else values.reshape(shape) for values in found]

    return run


def _common_shape(*arrays: Any) -> tuple[int, ...]:
    shapes = {np.shape(array) for array in arrays} - {()}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _line(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """Return an array broadcast to a shape, as a vector."""
    return (array if np.shape(array) == shape else xp.broadcast_to(array, shape)).reshape(-1)


def _line_or_number(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    return _line(xp, array, shape) if np.ndim(array) else array


def _taken(lines: Iterable[Any], places: Any) -> list[Any]:
    """Return elements of vectors at places; a number is that of all elements."""
    return [line.take(places) if line.ndim else line for line in lines]


def _product_through_64(a: Any, b: Any) -> Any:
    """Return the high half of the product of unsigned integers of 8, 16 or 32 bits."""
    shift = np.uint64(a.dtype.itemsize * 8)
    return (a.astype("uint64") * b.astype("uint64") >> shift).astype(a.dtype)


def _wide_product(a: Any, b: Any) -> Any:
    """Return the high 64 bits of the product of unsigned integers of 64 bits."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_low, a_high, b_low, b_high = a & mask, a >> half, b & mask, b >> half
    middle = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> half) + (other >> half)


def _signed_quotient(xp: Any, a: Any, b: Any) -> Any:
    """Return the quotient of signed integers rounded towards 0."""
    return xp.floor_divide(a - xp.fmod(a, b), b)


def _special(name: str, dtype: str, target: Target) -> Callable[..., Any]:
    """Return a special function with results of the operands' dtype."""
    return lambda *operands: target.special(name)(*operands).astype(dtype)
