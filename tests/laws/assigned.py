"""Laws of assigned carries: filling a table cell by cell costs a step the cells written, not the table."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.emit.code import Kind, text_of
from scanviz.engine.backends.native.run.tier import listings
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.program.instructions import LoopInstruction, all_loops, is_scalar
from scanviz.engine.program.plan.location import StoreKind
from tests.laws.frame import PLAIN
from tests.laws.law import law
from tests.support.comparing import check_same

SIZE = 1009  # elements of a carry along its first axis: more than is ever written out
STEPS = 9
WORK = ("set", "add", "several", "add several", "part", "read", "old", "around")


@dataclass(frozen=True)
class AssignedCase:
    """A loop whose step assigns to a carry.

    Attributes
    ----------
    dtype : str
        Of the carry.
    columns : int
        Of a carry that is a table; 0 for a vector.
    work : list of (str, int, int)
        What a step does, in order, each at an index ``a * t + b``: sets or adds to one element or row, or to several;
        moves a part by one; reads what is there now, or was there when the step began; or reads an element, sets another one,
        and needs the first beside that.
    ends : bool
        Whether a condition ends the loop, in the last step but one.
    """

    dtype: str
    columns: int
    work: list[tuple[str, int, int]]
    ends: bool

    @property
    def start(self) -> Array:
        """The initial value of the carry."""
        shape = (SIZE, self.columns) if self.columns else (SIZE,)
        return np.random.default_rng(1).uniform(-1, 1, shape).astype(self.dtype)

    def plainly(self, number: float) -> tuple[Array, Array]:
        """Return the carry and the number of each step, of a plain Python loop."""
        carry, s, rows = self.start, np.asarray(number, self.dtype), []
        for t in range(STEPS):
            old = carry.copy()
            for kind, a, b in self.work:
                i, j = self._places(a, b, t)
                if kind in ("set", "several"):
                    carry[i if kind == "set" else [i, j]] = s
                elif kind == "add":
                    carry[i] += s
                elif kind == "add several":
                    np.add.at(carry, [i, j], s)
                elif kind == "part":
                    carry[b : b + 4] = carry[b + 1 : b + 5].copy()
                elif kind == "around":
                    before = self._first(carry[i])
                    carry[j] = s
                    s = self._read(s, before * self._first(carry[j]))
                else:
                    s = self._read(s, self._first((old if kind == "old" else carry)[i]))
            rows.append(s)
            if self.ends and t >= STEPS - 2:
                break
        return carry, np.asarray(rows)

    def _read(self, s: Any, element: Any) -> Any:
        """Return the number after an element is read: its derivatives need the element."""
        half, one = np.asarray(0.5, self.dtype), np.asarray(1, self.dtype)
        return s * half / (one + element * element) + half

    def _first(self, row: Any) -> Any:
        """Return an element of a row that is read."""
        return row[0] if self.columns else row

    @staticmethod
    def _places(a: int, b: int, t: Any) -> tuple[Any, Any]:
        return a * t + b, t + b

    def step(self, t: Variable, carry: Any, s: Any) -> Any:
        """Return a step's result from the carry and the number."""
        old = carry
        for kind, a, b in self.work:
            i, j = self._places(a, b, t)
            if kind == "set":
                carry = T.set_subtensor(carry[i], s)
            elif kind == "add":
                carry = T.inc_subtensor(carry[i], s)
            elif kind == "several":
                carry = T.set_subtensor(carry[T.stack([i, j])], s)
            elif kind == "add several":
                carry = T.inc_subtensor(carry[T.stack([i, j])], s)
            elif kind == "part":
                carry = T.set_subtensor(carry[b : b + 4], carry[b + 1 : b + 5])
            elif kind == "around":
                before = self._first(carry[i])
                carry = T.set_subtensor(carry[j], s)
                s = self._read(s, before * self._first(carry[j]))
            else:
                s = self._read(s, self._first((old if kind == "old" else carry)[i]))
        return ((carry, s), scanviz.until(t >= STEPS - 2)) if self.ends else (carry, s)

    def built(self) -> tuple[list[Any], Any, Any]:
        """Return the inputs, the last carry and the numbers of all steps."""
        start = (T.matrix if self.columns else T.vector)("start", dtype=self.dtype)
        number = T.scalar("number", dtype=self.dtype)
        (carries, numbers), _ = scanviz.scan(self.step, T.arange(STEPS), [start, number])
        return [start, number], carries[-1], numbers


CASES = st.builds(
    AssignedCase,
    st.sampled_from(["float64", "float32"]),
    st.sampled_from([0, 0, 3]),
    st.lists(
        st.tuples(st.sampled_from(WORK), *(st.integers(0, most) for most in (3, 12))), min_size=1, max_size=5
    ),
    st.booleans(),
)


def passes(loop: LoopInstruction, plan: Any) -> list[int]:
    """Return how many elements each loop over elements takes that native code of a step has."""
    text, _ = text_of(loop, plan, Kind("plain"))
    return [int(most) for most in re.findall(r"icmp slt i64 %\S+, (\d+)", text)]


@law(sample=12, case=CASES, tier=st.sampled_from(["numpy", "native"]))
def a_carry_that_steps_assign_to_is_changed_in_place(case: AssignedCase, tier: str) -> None:
    """A step that assigns to its carry changes the carry in place; its native code copies no carry."""
    inputs, carry, numbers = case.built()
    f = scanviz.function(inputs, [carry, numbers], mode=tier, on_unused_input="ignore")
    given = [case.start, np.asarray(0.75, case.dtype)]
    check_same(f(*given), case.plainly(0.75), case.dtype)
    for listing in listings(f.executable):
        for k, slot in enumerate(listing.loop.states):
            if not is_scalar(listing.loop.body, slot.writes[0][1]):
                assert listing.plan.stores["state", k].kind is StoreKind.SINGLE, case
        if listing.ir:
            assert max(passes(listing.loop, listing.plan), default=0) < SIZE // 2, case


@law(sample=8, case=CASES, tier=st.sampled_from(["numpy", "native"]))
def a_gradient_of_a_carry_keeps_no_carry_of_each_step(case: AssignedCase, tier: str) -> None:
    """A gradient through an assigned carry keeps only the parts that were read, not the carry of each step."""
    inputs, carry, _ = case.built()
    pulled = scanviz.grad(T.sum(carry * carry), inputs, disconnected_inputs="ignore")
    f, plain = (
        scanviz.function(inputs, pulled, mode=mode, on_unused_input="ignore") for mode in (tier, PLAIN)
    )
    given = [case.start, np.asarray(0.75, case.dtype)]
    check_same(f(*given), plain(*given), case.dtype)
    single = {kind for kind, _, _ in case.work} <= {"set", "add"}
    for listing in listings(f.executable):
        if listing.ir and single:
            assert max(passes(listing.loop, listing.plan), default=0) < SIZE // 2, case
    for loop, _ in all_loops(f.program):
        whole = [
            slot.writes[0][1] for slot in loop.states if slot.result is not None and slot.keep_last is None
        ]
        whole += [slot.inner for slot in loop.step_outputs if slot.keep_last is None]
        kept = [loop.body.registers[number].type.shape for number in whole]
        carries = [shape for shape in kept if len(shape) == case.start.ndim and None in shape]
        assert not carries, (case, loop.name)
