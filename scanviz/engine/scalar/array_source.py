"""Blocks on arrays: a straight line of array functions, NumPy's or those of a module like it, one call for each line.

A loop runs over the elements that are not done: those for which its condition has become false drop out of the arrays, so an
attempt that most elements accept costs the next one little.  Functions that a table of intrinsics knows are called, others are
computed by their bodies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
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
    """What the source is written for.

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
                run = _Loop(self.target.module, going, step, len(line.outputs), int(str(line.data)))
                return f"{targets}, = {self.bind(f'loop{first}', run)}({given})"
            case "when":
                run_where = _Where(self.target.module, compiled(line.blocks[0], self.target))
                return f"{targets} = {self.bind(f'when{first}', run_where)}({given})"
            case op:
                function = self._function(op, self.block.dtypes[line.inputs[-1]])
                return f"{targets} = {self.bind(f'{op}_{first}', function)}({given})"

    def _function(self, op: str, dtype: str) -> Any:
        if op == "multiply_high":
            return _wide_product if dtype == "uint64" else _product_through_64
        if op == "quotient" and KINDS[dtype] == "signed":
            return _signed_quotient
        name = NAMES.get(op, op)
        return getattr(self.target.module, name) if hasattr(np, name) else _special(op, dtype, self.target)


class _Where:
    """A block for the elements where a condition is true."""

    def __init__(self, module: Any, body: Arrays) -> None:
        self.module, self.body = module, body

    def __call__(self, condition: Any, otherwise: Any, *given: Any) -> Any:
        xp = self.module
        shape = np.broadcast_shapes(*(np.shape(array) for array in (condition, otherwise, *given)))
        on = xp.flatnonzero(xp.broadcast_to(condition, shape))
        if len(on) == math.prod(shape):
            return xp.broadcast_to(self.body(*given)[0], shape)
        found = xp.array(xp.broadcast_to(otherwise, shape)).reshape(-1)
        if len(on):
            flat = (xp.broadcast_to(x, shape).reshape(-1)[on] if np.ndim(x) else x for x in given)
            found[on] = self.body(*flat)[0]
        return found.reshape(shape)


class _Loop:
    """A loop over elements: those that are done drop out."""

    def __init__(self, module: Any, going: Arrays, step: Arrays, count: int, limit: int) -> None:
        self.module, self.going, self.step, self.count, self.limit = module, going, step, count, limit

    def __call__(self, *given: Any) -> Sequence[Any]:
        xp = self.module
        shape = np.broadcast_shapes(*(np.shape(array) for array in given))
        values = [xp.array(xp.broadcast_to(array, shape)).reshape(-1) for array in given[: self.count]]
        others = [
            xp.broadcast_to(array, shape).reshape(-1) if np.ndim(array) else array
            for array in given[self.count :]
        ]
        places, now = None, values
        for done in itertools.count():
            (going,) = self.going(*now, *others)
            going = xp.broadcast_to(going, now[0].shape)
            if not going.all():
                places, now, others = self._narrowed(places, going, values, now, others)
            elif places is None and done == 0:
                places = xp.arange(len(now[0]))
            if not len(now[0]) or done == self.limit:
                break
            now = [xp.broadcast_to(array, now[0].shape) for array in self.step(*now, *others)]
        for old, new in zip(values, now, strict=True):
            old[places] = new
        return [value.reshape(shape) for value in values]

    def _narrowed(
        self, places: Any, going: Any, values: Sequence[Any], now: Sequence[Any], others: Sequence[Any]
    ) -> tuple[Any, list[Any], list[Any]]:
        """Return places and values of the elements that go on; those of the others are written where they belong."""
        xp = self.module
        on = xp.flatnonzero(going)
        if places is not None:
            off = xp.flatnonzero(~going)
            for old, new in zip(values, now, strict=True):
                old[places[off]] = new[off]
        return (
            on if places is None else places[on],
            [array[on] for array in now],
            [other[on] if np.ndim(other) else other for other in others],
        )


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


def _signed_quotient(a: Any, b: Any) -> Any:
    """Return the quotient of signed integers rounded towards 0."""
    return np.floor_divide(a - np.fmod(a, b), b)


def _special(name: str, dtype: str, target: Target) -> Callable[..., Any]:
    """Return a special function with results of the operands' dtype."""
    return lambda *operands: target.special(name)(*operands).astype(dtype)
