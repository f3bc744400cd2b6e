"""Operands that are new inputs, each with values: what an operation alone is applied to."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable, tensor_type
from scanviz.engine.graph.types import DTYPES
from tests.support.special_values import special_array


class FreshOperands:
    """Operands that are inputs of their own, each with a value, as an operation alone has them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.size = rng.choice((1, 2, 3))
        self.dtypes = [rng.choice(DTYPES), rng.choice(DTYPES)]
        self.inputs: list[Variable] = []
        self.positive: set[Variable] = set()

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""
        return self.rng.choice(options)

    def _input(self, dtype: str, shape: tuple[int, ...]) -> Variable:
        known = self.rng.choice((shape, (None,) * len(shape)))
        self.inputs.append(T.tensor(dtype, known, f"x{len(self.inputs)}"))
        return self.inputs[-1]

    def array(self, ranks: Sequence[int] = (0, 1, 2), dtypes: Sequence[str] = DTYPES) -> Variable:
        """Return a new input, if possible of one of the two dtypes that were chosen."""
        dtype = self.choose([text for text in self.dtypes if text in dtypes] or list(dtypes))
        return self._input(dtype, (self.size,) * self.choose(ranks))

    operand = array

    def matrix(self) -> Variable:
        """Return a new square matrix, whose values will be positive definite."""
        variable = self._input(self.choose(("float32", "float64")), (self.size, self.size))
        self.positive.add(variable)
        return variable

    def value(self, variable: Variable, size: int | None = None) -> Array:
        """Return a value for an input, of ``size`` along each axis if that is given."""
        kind, size = tensor_type(variable), self.size if size is None else size
        if variable not in self.positive:
            return special_array(self.rng, kind.dtype, (size,) * kind.ndim, moderate=True)
        factor = np.array([[self.rng.uniform(-1, 1) for _ in range(size)] for _ in range(size)])
        return np.asarray(factor @ factor.T + 2 * np.eye(size), kind.dtype)
