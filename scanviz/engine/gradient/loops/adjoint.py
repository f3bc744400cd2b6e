"""The adjoint of a recurrent state: the taps a backward loop reads and writes, and its defined rows.

A state is a buffer B of rows.  With ``offset`` rows before the row of step 0, step t reads ``B[offset+t+k]`` for k in the
reads R, computes f, and stores ``f_w`` in ``B[offset+t+w]`` for w in the writes W.  Let G be the cotangent of the buffer as the
loop leaves it.  Going through the steps from the last to the first, each step replaces rows of G by

====================  =========================================================================
tap k                 ``G[offset+t+k]`` becomes
====================  =========================================================================
read, not written     itself + Σ_w (∂f_w/∂B_k)ᵀ G_w      (the row stays: what came later adds to it)
read and written      Σ_w (∂f_w/∂B_k)ᵀ G_w               (what came later saw the new row only)
written, not read     0                                  (the old row is seen by nobody)
====================  =========================================================================

with ``G_w = G[offset+t+w]`` as it was before the step.  After the last of them G is the cotangent of the buffer as the loop
found it.  In reversed time tap k is tap −k, so this is a State again, with reads −(R ∪ W) and writes −(R ∪ W): gradients of
gradients need no new kind.  The third line is left out where no step reads the row again.  That holds for a sitsot or mitsot:
it writes the row after all that it reads, so its adjoint has writes −R alone.  Rows of such an adjoint that belong to steps
(all but the ``offset`` rows of the initial state) hold what was left in them and are never read.

What a step read must be known when the backward loop is there.  A row that was read at tap k is still in the buffer at the
end if no tap w ≤ k is written: then no later step, nor this one, replaced it (:func:`survives`).  Other rows are kept as a
result of their own.

With ``truncate_gradient`` the sweep stops after the last k steps.  Rows of earlier steps count as constant, except rows of a
mitmot that they alone wrote: these keep their cotangent.  (Only a mitmot built by hand has such rows: a backward loop of
``scan`` takes at most k steps.)

Gradients of orders one to three agree with unrolled graphs and Taylor coefficients for non-linear steps and random taps
(``tests/engine/gradient/test_loop_mixed.py``, ``tests/laws/loop_gradients.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.scan.variables import State


class AdjointTaps(NamedTuple):
    """Taps of the adjoint of a state, as taps of the state itself (the adjoint's are their negatives).

    Attributes
    ----------
    reads : tuple of int
        All taps, written ones first.
    kept : tuple of int
        Read and not written: the cotangent stays and contributions are added.
    replaced : tuple of int
        Read and written: contributions alone.
    cleared : tuple of int
        Written and not read, where somebody looks again: zero.
    """

    reads: tuple[int, ...]
    kept: tuple[int, ...]
    replaced: tuple[int, ...]
    cleared: tuple[int, ...]


def adjoint_taps(state: State) -> AdjointTaps:
    """Return the taps of a state's adjoint.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> h = State("h", {-1: T.vector()}, {0: T.vector()})
    >>> adjoint_taps(h)
    AdjointTaps(reads=(0, -1), kept=(-1,), replaced=(), cleared=())
    """
    reads, writes = tuple(state.reads), tuple(state.writes)
    return AdjointTaps(
        (*writes, *(tap for tap in reads if tap not in writes)),
        tuple(tap for tap in reads if tap not in writes),
        tuple(tap for tap in reads if tap in writes),
        tuple(tap for tap in writes if tap not in reads) if state.kind == "mitmot" else (),
    )


def survives(state: State, tap: int) -> bool:
    """Return whether the row read at a tap is still in the buffer when the loop has ended."""
    return all(written > tap for written in state.writes)


def rows_after(state: State) -> int:
    """Return the number of rows of a buffer beyond ``offset + steps``: those of taps ahead of the step."""
    return max((0, *state.reads, *state.writes))
