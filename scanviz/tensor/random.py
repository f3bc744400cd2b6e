"""Random numbers: streams of symbolic draws, reproducible on every backend.

A :class:`RandomStreams` gives each draw a shared state of its own, spawned from the stream's seed by the number of the
draw (its key differs, so streams never meet), with a default update: each call of a function that uses the draw gives new numbers.
Used inside of ``scan``, the state is carried from step to step and its update is among the loop's updates.

The generator is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.shared import SharedVariable, shared_random_state
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops import random as ops
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.philox import seed_state, spawn
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import as_variable

__all__ = ["RandomStreams", "random_state"]


def random_state(seed: int, name: str | None = None) -> SharedVariable:
    """Return a shared random state, for draws in the functional form ``next_state, values = …``.

    Examples
    --------
    >>> random_state(7).get_value().shape
    (6,)
    """
    return shared_random_state(seed_state(seed), name)


class RandomStreams:
    """A source of symbolic random draws.

    Parameters
    ----------
    seed : int, optional
        Equal seeds give equal numbers, draw by draw in order of creation; by default one is taken from the
        operating system.

    Attributes
    ----------
    state_updates : list of (SharedVariable, Variable)
        Each draw's state with its update.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> stream = T.random.RandomStreams(seed=1)
    >>> roll = scanviz.function([], stream.integers(1, 7, size=3))
    >>> first, second = roll(), roll()
    >>> bool((first >= 1).all() and (first < 7).all()), first.shape
    (True, (3,))
    """

    def __init__(self, seed: int | None = None) -> None:
        self.state_updates: list[tuple[SharedVariable, Variable]] = []
        self._seed = self._checked(seed)

    @staticmethod
    def _checked(seed: int | None) -> int:
        if seed is None:
            return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ScanvizTypeError("a seed must be an integer", where=user_line(), found=repr(seed))
        return int(seed)

    def seed(self, seed: int | None = None) -> None:
        """Give all draws made so far new states from a seed, as if they had been made with it."""
        self._seed = self._checked(seed)
        for index, (state, _) in enumerate(self.state_updates):
            state.set_value(spawn(seed_state(self._seed), index))

    def _fresh_state(self) -> SharedVariable:
        index = len(self.state_updates)
        return shared_random_state(spawn(seed_state(self._seed), index), f"random state {index}")

    def _keep(self, state: SharedVariable, following: Variable) -> None:
        state.default_update = following
        self.state_updates.append((state, following))

    def _draw(
        self, declaration: Declaration, size: Any, parameters: list[Any], dtype: object, **options: Any
    ) -> Variable:
        state = self._fresh_state()
        following, values = ops.draw(declaration, state, size, parameters, dtype, **options)
        self._keep(state, following)
        return values

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the uniform distribution on [low, high).

        Parameters
        ----------
        low, high : array_like
            Ends; broadcast together.
        size : int, scalar variable or shape, optional
            Shape drawn; by default that of the parameters.
        dtype : dtype, optional
            ``config.floatX`` by default.

        Examples
        --------
        >>> RandomStreams(1).uniform(size=(2, 3)).type
        TensorType('float64', (2, 3))
        """
        return self._draw(ops.UNIFORM, size, [low, high], config.floatX if dtype is None else dtype)

    def normal(self, mean: Any = 0.0, std: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the normal distribution; parameters as for :meth:`uniform`.

        Examples
        --------
        >>> RandomStreams(1).normal(size=2, dtype="float32").type
        TensorType('float32', (2,))
        """
        return self._draw(ops.NORMAL, size, [mean, std], config.floatX if dtype is None else dtype)

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the exponential distribution of mean ``scale``."""
        return self._draw(ops.EXPONENTIAL, size, [scale], config.floatX if dtype is None else dtype)

    def gamma(self, shape: Any = 1.0, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the gamma distribution; ``shape`` is its shape parameter."""
        return self._draw(ops.GAMMA, size, [shape, scale], config.floatX if dtype is None else dtype)

    def poisson(self, lam: Any = 1.0, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw numbers of events where ``lam`` are expected."""
        return self._draw(ops.POISSON, size, [lam], dtype)

    def bernoulli(self, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw 1 with probability ``p``, else 0."""
        return self._draw(ops.BERNOULLI, size, [p], dtype)

    def binomial(self, size: Any = None, n: Any = 1, p: Any = 0.5, dtype: object = "int64") -> Variable:
        """Draw numbers of successes among ``n`` trials of probability ``p`` (``size`` first, as in old scripts)."""
        return self._draw(ops.BINOMIAL, size, [n, p], dtype)

    def categorical(self, p: Any, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw numbers of categories, with their probabilities on the last axis of ``p``."""
        weights = as_variable(p)
        return self._draw(ops.CATEGORICAL, size, [weights], dtype, batch=[(weights, 1)])

    def multinomial(
        self, size: Any = None, n: Any = 1, pvals: Any = None, dtype: object = "int64"
    ) -> Variable:
        """Draw how many of ``n`` trials fall into each category, with probabilities on the last axis of ``pvals``."""
        if pvals is None:
            raise ScanvizTypeError(
                "multinomial needs the probabilities of the categories", where=user_line(), fix="pvals=[…]"
            )
        weights, trials = as_variable(pvals), as_variable(n)
        return self._draw(ops.MULTINOMIAL, size, [trials, weights], dtype, batch=[(trials, 0), (weights, 1)])

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw integers from ``low`` (0 if one argument is given) up to, not including, ``high``."""
        ends = [0, low] if high is None else [low, high]
        return self._draw(ops.INTEGERS, size, ends, dtype)

    def choice(self, a: Any, size: Any = (), replace: bool = True, p: Any = None) -> Variable:
        """Draw from the numbers 0 to ``a - 1``, or from the rows of an array, with or without replacement."""
        source = as_variable(a)
        count = source if tensor_type(source).ndim == 0 else dimension(source, 0)
        chosen = self._draw(
            ops.CHOICE,
            size,
            [count] if p is None else [count, as_variable(p)],
            "int64",
            replace=bool(replace),
        )
        return chosen if tensor_type(source).ndim == 0 else getitem(source, chosen)

    def permutation(self, x: Any) -> Variable:
        """Return the numbers 0 to ``x - 1``, or the rows of an array, in random order."""
        state = self._fresh_state()
        following, values = ops.draw_permutation(state, x)
        self._keep(state, following)
        return values


def _state(state: Variable) -> Variable:
    if state.type != RANDOM_STATE:
        raise ScanvizTypeError(
            f"`{state}` is no random state", where=user_line(), fix="T.random.random_state(seed)"
        )
    return state


def uniform(
    state: Variable, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: object = None
) -> tuple[Variable, Variable]:
    """Return (next state, uniform numbers on [low, high)): the functional form, for states handled by hand.

    Examples
    --------
    >>> following, values = uniform(random_state(1), size=2)
    >>> values.type
    TensorType('float64', (2,))
    """
    return ops.draw(ops.UNIFORM, _state(state), size, [low, high], config.floatX if dtype is None else dtype)


def normal(
    state: Variable, mean: Any = 0.0, std: Any = 1.0, size: Any = None, dtype: object = None
) -> tuple[Variable, Variable]:
    """Return (next state, normal numbers): the functional form.

    Examples
    --------
    >>> following, values = normal(random_state(1))
    >>> values.type
    TensorType('float64', ())
    """
    return ops.draw(ops.NORMAL, _state(state), size, [mean, std], config.floatX if dtype is None else dtype)
