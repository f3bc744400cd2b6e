"""Random numbers: streams of symbolic draws, reproducible on every backend.

A :class:`RandomStreams` gives each draw a shared state of its own with a default update: each call of a
function that uses the draw gives new numbers.  Used inside of ``scan``, the state is carried from step to
step and its update is among the loop's updates.

Draw number ``k`` of a stream, counted from 0 in order of creation, starts from ``spawn(seed_state(seed), k)``
(:mod:`scanviz.engine.ops.draws.philox`): the states' keys differ, so draws never meet, and a stream's k-th draw is
the same whatever the others draw.

The generator is Philox 4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).  The
draws from a state handled by hand are in :mod:`scanviz.tensor.random.draws` and ``discrete``, and their names are here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.shared import SharedVariable, shared_random_state
from scanviz.engine.graph.types import canonical_dtype
from scanviz.engine.locks import lock
from scanviz.engine.ops.draws.philox import Words, seed_state, spawn
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.other_names import missing
from scanviz.tensor.random import discrete, draws
from scanviz.tensor.random.discrete import (
    bernoulli,
    binomial,
    categorical,
    choice,
    integers,
    multinomial,
    permutation,
    poisson,
)
from scanviz.tensor.random.draws import (
    beta,
    dirichlet,
    exponential,
    gamma,
    gumbel,
    laplace,
    lognormal,
    multivariate_normal,
    normal,
    standard_normal,
    truncated_normal,
    uniform,
)

__all__ = [
    "RandomStreams",
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "choice",
    "dirichlet",
    "exponential",
    "gamma",
    "gumbel",
    "integers",
    "laplace",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "random_state",
    "standard_normal",
    "truncated_normal",
    "uniform",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_MAKING = lock()  # of draws: no two of a stream may begin with one state, whatever threads they are built in


def random_state(seed: int, name: str | None = None) -> SharedVariable:
    """Return a shared random state, for draws in the functional form ``next_state, values = …``.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    name : str, optional
        Name for messages and dumps.

    Examples
    --------
    >>> random_state(7).get_value().shape
    (4,)
    """
    return shared_random_state(_root(seed), name)


def _root(seed: int | None) -> Words:
    """Return the state of a seed, one from the operating system if it is None, with the user's line in errors."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    try:
        return seed_state(seed)
    except (ScanvizTypeError, ScanvizValueError) as error:
        error.where = user_line()
        raise


class RandomStreams:
    """A source of symbolic random draws.

    Parameters
    ----------
    seed : int, optional
        From 0 to 2**64 - 1.  Equal seeds give equal numbers, draw by draw in order of creation; by default
        one is taken from the operating system.

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
        self._root = _root(seed)

    def seed(self, seed: int | None = None) -> None:
        """Give all draws made so far new states from a seed, as if they had been made with it.

        Examples
        --------
        >>> import scanviz
        >>> stream = RandomStreams(1)
        >>> toss = scanviz.function([], stream.bernoulli(size=64))
        >>> first = toss()
        >>> stream.seed(1)
        >>> bool((toss() == first).all())
        True
        """
        with _MAKING:
            self._root = _root(seed)
            for index, (state, _) in enumerate(self.state_updates):
                state.set_value(spawn(self._root, index))

    def _draw(self, function: Callable[..., draws.Drawn], *arguments: Any, **options: Any) -> Variable:
        """Draw from a new state, which this stream keeps only if the draw could be made."""
        with _MAKING:
            index = len(self.state_updates)
            state = shared_random_state(spawn(self._root, index), f"random state {index}")
            following, values = function(state, *arguments, **options)
            state.default_update = following
            self.state_updates.append((state, following))
        return values

    def _count(self, function: Callable[..., draws.Drawn], *parameters: Any, dtype: object) -> Variable:
        """Draw whole numbers; in a floating dtype, as old scripts ask for, they are drawn as int64 and cast."""
        wanted = canonical_dtype(dtype)
        if not wanted.startswith("float"):
            return self._draw(function, *parameters, wanted)
        return cast(self._draw(function, *parameters, "int64"), wanted)

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
        return self._draw(draws.uniform, low, high, size, dtype)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        dtype: object = None,
        *,
        mean: Any = None,
        std: Any = None,
    ) -> Variable:
        """Draw from the normal distribution; ``mean`` and ``std`` are older names of ``loc`` and ``scale``.

        Examples
        --------
        >>> RandomStreams(1).normal(size=2, dtype="float32").type
        TensorType('float32', (2,))
        """
        return self._draw(draws.normal, loc, scale, size, dtype, mean=mean, std=std)

    def standard_normal(self, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the normal distribution of mean 0 and standard deviation 1."""
        return self._draw(draws.standard_normal, size, dtype)

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: object = None
    ) -> Variable:
        """Draw numbers whose logarithms are normal with mean ``mean`` and standard deviation ``sigma``."""
        return self._draw(draws.lognormal, mean, sigma, size, dtype)

    def truncated_normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        low: Any = -math.inf,
        high: Any = math.inf,
        size: Any = None,
        dtype: object = None,
    ) -> Variable:
        """Draw from the normal distribution among numbers from ``low`` to ``high``."""
        return self._draw(draws.truncated_normal, loc, scale, low, high, size, dtype)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, dtype: object = None) -> Variable:
        """Draw vectors from the normal distribution with mean ``mean`` and covariance ``cov``."""
        return self._draw(draws.multivariate_normal, mean, cov, size, dtype)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the Laplace distribution around ``loc`` with mean distance ``scale``."""
        return self._draw(draws.laplace, loc, scale, size, dtype)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the Gumbel distribution with mode ``loc``."""
        return self._draw(draws.gumbel, loc, scale, size, dtype)

    def beta(self, a: Any, b: Any, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the beta distribution on (0, 1)."""
        return self._draw(draws.beta, a, b, size, dtype)

    def dirichlet(self, alpha: Any, size: Any = None, dtype: object = None) -> Variable:
        """Draw probabilities that sum to 1, one for each number on the last axis of ``alpha``."""
        return self._draw(draws.dirichlet, alpha, size, dtype)

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the exponential distribution of mean ``scale``."""
        return self._draw(draws.exponential, scale, size, dtype)

    def gamma(self, shape: Any = 1.0, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Variable:
        """Draw from the gamma distribution; ``shape`` is its shape parameter."""
        return self._draw(draws.gamma, shape, scale, size, dtype)

    def poisson(self, lam: Any = 1.0, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw numbers of events where ``lam`` are expected."""
        return self._count(discrete.poisson, lam, size, dtype=dtype)

    def bernoulli(self, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw 1 with probability ``p``, else 0."""
        return self._draw(discrete.bernoulli, p, size, dtype)

    def binomial(self, n: Any = 1, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw numbers of successes among ``n`` trials of probability ``p``."""
        return self._count(discrete.binomial, n, p, size, dtype=dtype)

    def categorical(self, p: Any, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw numbers of categories, with their probabilities on the last axis of ``p``."""
        return self._count(discrete.categorical, p, size, dtype=dtype)

    def multinomial(
        self, n: Any = 1, pvals: Any = None, size: Any = None, dtype: object = "int64"
    ) -> Variable:
        """Draw how many of ``n`` trials fall into each category, with their probabilities on the last axis of ``pvals``."""
        if pvals is None:
            raise ScanvizTypeError.here(
                "multinomial needs the probabilities of the categories", fix="pvals=[…]"
            )
        return self._count(discrete.multinomial, n, pvals, size, dtype=dtype)

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: object = "int64") -> Variable:
        """Draw integers from ``low`` (0 if one argument is given) up to, not including, ``high``."""
        return self._draw(discrete.integers, low, high, size, dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Variable:
        """Choose from the numbers 0 to ``a - 1``, or from the rows of an array, with or without replacement."""
        return self._draw(discrete.choice, a, size, replace, p)

    def permutation(self, x: Any) -> Variable:
        """Return the numbers 0 to ``x - 1``, or the rows of an array, in random order."""
        return self._draw(discrete.permutation, x)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing("scanviz.tensor.random.RandomStreams", name)


if not TYPE_CHECKING:  # where it would hide names that are not there

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
