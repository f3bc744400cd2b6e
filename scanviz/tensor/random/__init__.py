"""Random numbers: streams of symbolic draws, reproducible on every backend.

A :class:`RandomStreams` gives each draw a shared state of its own with a default update: each call of a
function that uses the draw gives new numbers.  Used inside of ``scan``, the state is carried from step to
step and its update is among the loop's updates.

Draw number ``k`` of a stream, counted from 0 in order of creation, starts from ``spawn(seed_state(seed), k)``
(:mod:`scanviz.engine.ops.draws.philox`).  The states' keys differ, so draws never meet, and a stream's k-th draw does not
depend on the others.

The generator is Philox 4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).  The
draws from a state handled by hand are in :mod:`scanviz.tensor.random.draws`, and their names are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.shared import SharedVariable, shared_random_state
from scanviz.engine.locks import lock
from scanviz.engine.ops.draws.philox import Words, seed_state, spawn
from scanviz.engine.other_names import missing
from scanviz.tensor.random import draws
from scanviz.tensor.random.draws import *  # noqa: F403

__all__ = ["RandomStreams", "random_state"]
__all__ += draws.__all__


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


P = ParamSpec("P")


def _drawing(
    function: Callable[Concatenate[Variable, P], draws.Drawn],
) -> Callable[Concatenate[RandomStreams, P], Variable]:
    """Return the method of a stream that draws as a function of a random state does."""

    def method(self: RandomStreams, /, *arguments: P.args, **options: P.kwargs) -> Variable:
        return self._draw(function, *arguments, **options)

    update_wrapper(method, function)
    method.__doc__ = (
        f"{(function.__doc__ or '').partition(chr(10))[0]}\n\n"
        f"Arguments are those of ``T.random.{function.__name__}`` after its state.\n"
    )
    return method


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

    uniform = _drawing(draws.uniform)
    normal = _drawing(draws.normal)
    standard_normal = _drawing(draws.standard_normal)
    lognormal = _drawing(draws.lognormal)
    truncated_normal = _drawing(draws.truncated_normal)
    multivariate_normal = _drawing(draws.multivariate_normal)
    laplace = _drawing(draws.laplace)
    gumbel = _drawing(draws.gumbel)
    beta = _drawing(draws.beta)
    dirichlet = _drawing(draws.dirichlet)
    exponential = _drawing(draws.exponential)
    gamma = _drawing(draws.gamma)
    poisson = _drawing(draws.poisson)
    bernoulli = _drawing(draws.bernoulli)
    binomial = _drawing(draws.binomial)
    categorical = _drawing(draws.categorical)
    multinomial = _drawing(draws.multinomial)
    integers = _drawing(draws.integers)
    choice = _drawing(draws.choice)
    permutation = _drawing(draws.permutation)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing("scanviz.tensor.random.RandomStreams", name)


if not TYPE_CHECKING:  # where it would hide names that are not there

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
