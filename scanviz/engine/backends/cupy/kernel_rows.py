"""Compute a step of a loop: numbers in registers of each thread, and the inside of rows by all threads of a block.

Operations become nodes.  A node without axes inside a row is computed by every thread.  Elementwise nodes of one shape share a pass
over the elements; shared memory holds what another pass, a sum or a product reads of them.  Threads wait for one another between
passes.  Moved, indexed and joined arrays are no nodes: their elements are read where they lie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from scanviz.engine.backends.cupy.elements import INSIDE, Elements, Registers
from scanviz.engine.backends.cupy.kernel_draws import Draws
from scanviz.engine.program.instructions import Program, dtype_of
from scanviz.engine.program.plan import Plan
from scanviz.engine.scalar.cuda_source import TYPES, CudaFunctions

Index = tuple[str, ...]  # the place along each axis of a register
Text = Callable[[Index], str]
MOST_THREADS = 256
ROWS_PRELUDE = """\
template <class T, T (*op)(T, T)> __device__ inline T sv_over_block(T x, T* all) {
  all[threadIdx.x] = x;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] = op(all[threadIdx.x], all[threadIdx.x + half]);
    __syncthreads();
  }
  x = all[0];
  __syncthreads();
  return x;
}
"""


class StepNode:
    """A computation of one pass, or of every thread.

    Attributes
    ----------
    kind : str
        ``"map"``, ``"fold"``, ``"store"`` or ``"wait"``.
    register : int
        The register that it fills or stores.
    inside : tuple of int
        Sizes of the axes inside a row.
    lines : callable
        ``lines()`` returns its statements; called twice, first to find out what it reads.
    reads : set of (StepNode, Index)
        The nodes that it reads, and where.
    number : int
        The pass in which it is computed.
    """

    def __init__(
        self, kind: str, register: int, inside: tuple[int, ...], lines: Callable[[], list[str]]
    ) -> None:
        self.kind, self.register, self.inside, self.lines = kind, register, inside, lines
        self.reads: set[tuple[StepNode, Index]] = set()
        self.number = -1
        self.is_shared = kind == "fold" and bool(inside)


class StepRows(Registers):
    """The nodes of a step.

    Parameters
    ----------
    body, plan, elements
        As of :class:`~scanviz.engine.backends.cupy.elements.Registers`.
    draws : Draws
        The draws of the step.
    functions : CudaFunctions
        Gets the functions of operations.
    stream : callable
        ``stream(kind, number)`` returns the name of a random state.

    Attributes
    ----------
    is_used : bool
        Whether a block of threads takes a row.
    by_one : str
        The condition for one thread to write what all have.
    threads : int
        Threads of a block.
    before, step : list of str
        Statements before the loop and in a step.
    checks : bool
        Whether parameters or indices are checked.
    shared_bytes : int
        Bytes of shared memory.
    """

    def __init__(
        self,
        body: Program,
        plan: Plan,
        elements: Elements,
        draws: Draws,
        functions: CudaFunctions,
        stream: Callable[[str, int], str],
    ) -> None:
        super().__init__(body, plan, elements)
        self.draws, self.functions, self.stream = draws, functions, stream
        self.is_used = any(INSIDE in along for along in elements.along.values())
        self.by_one = "if (threadIdx.x == 0) " if self.is_used else ""
        self.before: list[str] = []
        self.step: list[str] = []
        self.checks = False
        self.shared_bytes = 0
        self._shared: list[str] = []
        self._views: dict[int, Text] = {}
        self._nodes: dict[int, StepNode] = {}
        self._extra: dict[int, tuple[tuple[int, ...], str, tuple[int | None, ...]]] = {}
        self._order: list[StepNode] = []
        self._tail: list[tuple[int, Callable[[str], list[str]]]] = []
        self._reading: set[tuple[StepNode, Index]] | None = None
        self._pass = -1
        self._scratch: dict[str, str] = {}
        largest = max((prod(self.inside(number)) for number in elements.along), default=1)
        self.threads = min(MOST_THREADS, max(32, 1 << (largest - 1).bit_length()))

    # registers

    def shape(self, register: int) -> tuple[int, ...]:
        """Return the shape of a register."""
        return self._extra[register][0] if register in self._extra else super().shape(register)

    def dtype(self, register: int) -> str:
        """Return the dtype of a register."""
        return self._extra[register][1] if register in self._extra else dtype_of(self.body, register)

    def along(self, register: int) -> tuple[int | None, ...]:
        """Return the kernel's axis of each axis of a register."""
        return self._extra[register][2] if register in self._extra else super().along(register)

    def loop_index(self, register: int) -> Index:
        """Return the place of the element ``e`` of a pass over a register."""
        sizes, found, seen = self.inside(register), [], 0
        for along in self.along(register):
            if along == INSIDE:
                found.append(digit("e", sizes, seen))
                seen += 1
            else:
                found.append("0" if along is None else f"i{along}")
        return tuple(found)

    def flat(self, register: int, index: Index) -> str:
        """Return the number of an element among those inside a row."""
        sizes = self.inside(register)
        places = [place for place, along in zip(index, self.along(register), strict=True) if along == INSIDE]
        if all(place == digit("e", sizes, k) for k, place in enumerate(places)) and sizes:
            return "e"
        found = "0"
        for place, size in zip(places, sizes, strict=True):
            found = place if found == "0" else f"({found} * {size} + {place})"
        return found

    def whole_flat(self, register: int, index: Index) -> str:
        """Return the number of an element among all of a register."""
        found = "0"
        for place, size, along in zip(index, self.shape(register), self.along(register), strict=True):
            if along is not None:
                text = str(size) if along == INSIDE else f"z.of[{1 + along}]"
                found = place if found == "0" else f"({found} * {text} + {place})"
        return found

    @staticmethod
    def over(inside: Sequence[int]) -> str:
        """Return the head of a pass over the elements inside a row."""
        return f"for (int e = threadIdx.x; e < {prod(inside)}; e += blockDim.x)"

    def new_name(self, register: int) -> str:
        """Return a name for a register, like the user's."""
        given = self.body.registers[register].name if register >= 0 else None
        plain = re.sub(r"[^a-zA-Z0-9]+", "_", (given or "v").encode("ascii", "ignore").decode()).strip("_")
        return f"r_{plain or 'v'}_{register}" if register >= 0 else f"r_v_extra{-register}"

    def name(self, register: int, text: str) -> None:
        """Let a register be a number that all threads have."""
        self._views[register] = lambda index: text

    def see(self, register: int, text: Text) -> None:
        """Let elements of a register be read where they lie."""
        self._views[register] = text

    def element(self, register: int, index: Index) -> str:
        """Return an element of a register."""
        if register in self._views:
            return self._views[register](index)
        node = self._nodes[register]
        if self._reading is not None:
            self._reading.add((node, index))
        name = self.new_name(register)
        if not node.inside or (node.number == self._pass and index == self.loop_index(register)):
            return name
        return f"{name}_all[{self.flat(register, index)}]"

    def share(self, name: str, count: int, dtype: str) -> None:
        """Declare an array in shared memory."""
        self.shared_bytes += -(-count * np.dtype(dtype).itemsize // 16) * 16
        self._shared.append(f"__shared__ {TYPES[dtype]} {name}[{max(count, 1)}];")

    def declarations(self) -> list[str]:
        """Return the declarations of shared memory."""
        return self._shared

    # nodes

    def add_node(self, node: StepNode) -> None:
        """Add a node, after those that it reads."""
        self._order.append(node)
        if node.kind in ("map", "fold"):
            self._nodes[node.register] = node

    def map(self, register: int, text: Text, is_invariant: bool = False) -> None:
        """Add a node whose elements are computed one by one."""
        inside, made = self.inside(register), TYPES[self.dtype(register)]
        name, index = self.new_name(register), self.loop_index(register)
        node = StepNode("map", register, inside, lambda: [f"const {made} {name} = {text(index)};"])
        self.add_node(node)
        if is_invariant and not inside:
            self._reading = set()
            lines = node.lines()
            read, self._reading = self._reading, None
            if not read:  # of nothing but what was named before the loop
                self.before += lines
                self._order.remove(node)
                del self._nodes[register]
                self.name(register, name)

    def beside(self, number: int, index: Index) -> Index:
        """Return the place in an operand of a place in a result, broadcast from the last axis on."""
        shape = self.shape(number)
        places = index[len(index) - len(shape) :]
        return tuple("0" if size == 1 else place for size, place in zip(shape, places, strict=True))

    def more(self, shape: tuple[int, ...], dtype: str, along: tuple[int | None, ...]) -> int:
        """Return a register that the step does not have."""
        number = -1 - len(self._extra)
        self._extra[number] = shape, dtype, along
        return number

    def one_per_thread(self, dtype: str) -> str:
        """Return the name of shared memory with a number for each thread."""
        if dtype not in self._scratch:
            self._scratch[dtype] = f"of_threads_{dtype}"
            self.share(self._scratch[dtype], self.threads, dtype)
        return self._scratch[dtype]

    # results

    def store(self, register: int, lines: Callable[[str, Index], list[str]]) -> None:
        """Add statements for each element of a register; ``lines(text, index)`` returns the statements."""
        index = self.loop_index(register)
        self.add_node(
            StepNode(
                "store", register, self.inside(register), lambda: lines(self.element(register, index), index)
            )
        )

    def store_number(self, register: int, lines: Callable[[str], list[str]]) -> None:
        """Add statements for the end of a step, with a value that all threads have."""
        self._tail.append((register, lines))

    def wait(self) -> None:
        """Let all threads wait for one another before what follows."""
        self.add_node(StepNode("wait", -1, (), list))

    def schedule(self) -> None:
        """Write the statements of the step."""
        for node in self._order:
            self._reading = node.reads
            node.lines()
        self._reading = None
        passes = self._passes()
        for node in self._order:
            for read, _ in node.reads:
                if read.inside and read.number != node.number:
                    read.is_shared = True
        # numbers of the tail may be elements of a row
        self._reading = tail = set[tuple[StepNode, Index]]()
        for register, _ in self._tail:
            self.element(register, self.loop_index(register))
        self._reading = None
        for read, _ in tail:
            read.is_shared = read.is_shared or bool(read.inside)
        for node in self._order:
            if node.is_shared:
                self.share(
                    f"{self.new_name(node.register)}_all", prod(node.inside), self.dtype(node.register)
                )
        for members in passes:
            self._write(members)
        self._pass = -1
        for register, lines in self._tail:
            self.step += lines(self.element(register, self.loop_index(register)))

    def _passes(self) -> list[list[StepNode]]:
        """Divide the nodes into passes: a node joins the open pass if it has its shape and reads of it its own element alone."""
        found: list[list[StepNode]] = []
        left = list(self._order)
        while left:
            node = self._next(left, found)
            left.remove(node)
            joins = bool(found) and self._fits(node, found[-1])
            if not joins:
                found.append([])
            node.number = len(found) - 1
            found[-1].append(node)
        return found

    def _next(self, left: Sequence[StepNode], found: Sequence[Sequence[StepNode]]) -> StepNode:
        """Return the node to write next: one that joins the open pass, else the first whose inputs are there."""
        ready = []
        for node in left:
            if node.kind == "wait":
                break  # nothing after it goes before it
            if all(read.number >= 0 for read, _ in node.reads):
                ready.append(node)
        if not ready:
            return left[0]
        for node in ready:
            if found and self._fits(node, found[-1]):
                return node
        return ready[0]

    def _fits(self, node: StepNode, members: Sequence[StepNode]) -> bool:
        """Return whether a node may be computed in a pass."""
        if not members or node.kind in ("fold", "wait") or members[0].kind in ("fold", "wait"):
            return False
        if node.inside != members[0].inside:
            return False
        number = members[0].number
        return all(
            read.number != number or not read.inside or index == self.loop_index(read.register)
            for read, index in node.reads
        )

    def _write(self, members: Sequence[StepNode]) -> None:
        """Write a pass."""
        self._pass = members[0].number
        if members[0].kind == "wait":
            self.step.append("__syncthreads();")
            return
        inside = members[0].inside
        if members[0].kind == "fold" or not inside:
            for node in members:
                self.step += node.lines()
            if members[0].kind == "fold" and inside:
                self.step.append("__syncthreads();")
            return
        self.step.append(f"{self.over(inside)} {{")
        for node in members:
            self.step += [f"  {line}" for line in node.lines()]
            if node.is_shared:
                name = self.new_name(node.register)
                self.step.append(f"  {name}_all[e] = {name};")
        self.step += ["}", "__syncthreads();"]


def digit(text: str, sizes: Sequence[int], axis: int) -> str:
    """Return the place along an axis of the element with a number in C order."""
    behind = prod(sizes[axis + 1 :])
    found = text if behind == 1 else f"({text} / {behind})"
    return found if axis == 0 or prod(sizes[:axis]) == 1 else f"({found} % {sizes[axis]})"
