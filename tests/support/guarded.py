"""Random loops in which bad points are left out: by ``where``, an index, a mask that keeps a state, or because no one reads them.

The functions are analytic where they are alive, so the oracle is a complex step: ``Im f(x + ih v) / h`` of a plain NumPy loop
is the derivative along v to the last digit, and what a guard leaves out takes no part in it.

Source: Squire and Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review 40 (1998).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from scanviz import scan
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable

_STEP = 1e-30


class Link(NamedTuple):
    """One function of a chain, of the value so far and a weight, in both of its meanings."""

    name: str
    symbolic: Callable[[Any, Any], Any]
    plain: Callable[[Any, Any], Any]


def _same(name: str, function: Callable[[Any, Any, Any], Any]) -> Link:
    return Link(name, lambda x, w: function(T, x, w), lambda x, w: function(np, x, w))


LINKS = (
    _same("log", lambda m, x, w: m.log(x)),
    _same("sqrt", lambda m, x, w: m.sqrt(x)),
    _same("reciprocal", lambda m, x, w: 1 / x),
    _same("quotient", lambda m, x, w: w / x),
    _same("power 0.5", lambda m, x, w: x**0.5),
    _same("power -1.5", lambda m, x, w: x**-1.5),
    _same("power 2.5", lambda m, x, w: x**2.5),
    _same("arcsin", lambda m, x, w: m.arcsin(x)),
    _same("arctanh", lambda m, x, w: m.arctanh(x)),
    _same("log1p", lambda m, x, w: m.log1p(x)),
    _same("large exp", lambda m, x, w: m.exp(400 * (x - 1))),
    _same("exp", lambda m, x, w: m.exp(x)),
    _same("tanh", lambda m, x, w: m.tanh(x)),
    _same("sin", lambda m, x, w: m.sin(x)),
    _same("scaled", lambda m, x, w: w * x),
    _same("scaled from the right", lambda m, x, w: x * w),
    _same("shifted", lambda m, x, w: x - w),
    _same("square", lambda m, x, w: x * x),
)
# how bad elements are left out; by the last two only those of the last row: its step's rows, or a state, are not read
KINDS = ("where", "index", "state", "unread rows", "unread state")


@dataclass(frozen=True)
class GuardedLoop:
    """A loop over rows of x whose step adds up a chain of functions where its value is good.

    Attributes
    ----------
    links : sequence of Link
        The chain.
    rows : array
        Of shape (steps, 3): the input of the chain, with good and bad elements.
    weight : array
        A number that links use.
    alive : array
        Of bool, like ``rows``: where the chain is analytic and moderate.
    kind : str
        How bad elements are left out.
    last_alone : bool
        Whether the cost reads the last row that it may read, and no other.
    """

    links: Sequence[Link]
    rows: Array
    weight: Array
    alive: Array
    kind: str
    last_alone: bool

    def cost(self, x: Variable, w: Variable) -> Variable:
        """Return a number computed by a scan of symbolic rows and weight."""
        if self.kind == "unread state":
            return self._late_cost(x, w)

        def step(x_t: Variable, alive_t: Variable, places_t: Variable, h: Variable) -> Variable:
            y = x_t
            for link in self.links:
                y = link.symbolic(y, w)
            if self.kind == "index":
                return T.sin(y[places_t] + 0.5 * h[places_t])
            if self.kind == "unread rows":
                return T.sin(y + 0.5 * h)
            if self.kind == "where":
                return T.where(alive_t, T.sin(y + 0.5 * h), 0.5 * h + x_t)
            return T.where(alive_t, T.sin(y * h), h)

        found, _ = scan(
            step,
            [x, T.constant(self.alive), T.constant(self.places())],
            T.constant(np.full(3, 0.7)),
            name="guarded",
        )
        return self._read(found[:-1] if self.kind == "unread rows" else found)

    def _late_cost(self, x: Variable, w: Variable) -> Variable:
        """Return the same of a loop with a state that only the next step reads, so that no one reads it after the last."""

        def step(x_t: Variable, y: Variable, h: Variable) -> tuple[Variable, Variable]:
            following = x_t
            for link in self.links:
                following = link.symbolic(following, w)
            return following, T.sin(y + 0.5 * h)

        (_, found), _ = scan(
            step, x, [T.constant(np.full(3, 0.3)), T.constant(np.full(3, 0.7))], name="guarded"
        )
        return self._read(found)

    def _read(self, rows: Variable) -> Variable:
        """Return the number that is differentiated, of the last row alone or of all."""
        total: Variable = T.sum(rows[-1] * np.arange(1.0, 4.0))
        return total if self.last_alone else total + T.sum(T.sin(rows))

    def places(self) -> Array:
        """Return for each element of a row the place of one that is good: itself where it is."""
        return np.array(
            [[k if good else int(np.argmax(row)) for k, good in enumerate(row)] for row in self.alive]
        ).reshape(self.rows.shape)

    def plain(self, x: Array, w: Any) -> Any:
        """Return the same number by a plain loop over complex arrays."""
        h: Any = np.full(3, 0.7, x.dtype)
        y: Any = np.full(3, 0.3, x.dtype)
        kept = []
        for x_t, alive_t, places_t in zip(x, self.alive, self.places(), strict=True):
            before = y
            y = np.where(alive_t, x_t, x_t[places_t])  # a bad element is never computed with
            for link in self.links:
                y = link.plain(y, w)
            if self.kind == "unread state":
                h = np.sin(before + 0.5 * h)
            elif self.kind == "unread rows":
                h = np.sin(y + 0.5 * h)
            elif self.kind == "index":
                h = np.sin(y + 0.5 * h[places_t])
            elif self.kind == "where":
                h = np.where(alive_t, np.sin(y + 0.5 * h), 0.5 * h + x_t)
            else:
                h = np.where(alive_t, np.sin(y * h), h)
            kept.append(h)
        if self.kind == "unread rows":
            kept.pop()
        total = np.sum(kept[-1] * np.arange(1.0, 4.0))
        return total if self.last_alone else total + np.sum(np.sin(kept))

    def slope(self, along_rows: Array, along_weight: float) -> float:
        """Return the derivative along a direction, by a complex step."""
        moved = self.plain(self.rows + 1j * _STEP * along_rows, self.weight + 1j * _STEP * along_weight)
        return float(np.imag(moved) / _STEP)


def _alive(links: Sequence[Link], rows: Array, weight: Array) -> Array:
    """Return where every value of the chain is finite and moderate, and real."""
    good = np.ones(rows.shape, bool)
    y: Any = rows.astype(complex)
    with np.errstate(all="ignore"):
        for link in links:
            moved, y = link.plain(y * (1 + 1e-7), weight), link.plain(y, weight)
            good &= np.isfinite(y) & (np.abs(y.imag) < 1e-12) & (np.abs(y) < 20) & (np.abs(y) > 1e-3)
            good &= np.abs(moved - y) < 1e-4
    return good


@st.composite
def guarded_loops(draw: st.DrawFn) -> GuardedLoop:
    """Draw a loop with a chain of one to four functions and rows with at least one good element each."""
    links = draw(st.lists(st.sampled_from(LINKS), min_size=1, max_size=4))
    weight = np.asarray(draw(st.sampled_from([0.6, 1.3, 2.0])))
    good = [start for start in np.linspace(0.1, 3.0, 30) if _alive(links, np.array([start]), weight)[0]]
    if not good:
        links = [LINKS[0]]
        good = [0.4, 1.7]
    elements = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 40.0]) | st.sampled_from(good)
    kind = draw(st.sampled_from(KINDS))
    unread = kind.startswith("unread")
    steps = draw(st.integers(2 if unread else 1, 4))
    rows = np.array(
        [[draw(elements), draw(elements), draw(st.sampled_from(good))] for _ in range(steps)]
    ).reshape(steps, 3)
    if unread:
        rows[:-1] = np.where(_alive(links, rows[:-1], weight), rows[:-1], good[0])
    return GuardedLoop(links, rows, weight, _alive(links, rows, weight), kind, draw(st.booleans()))
