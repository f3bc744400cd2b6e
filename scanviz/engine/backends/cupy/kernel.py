"""Write a loop as one CUDA kernel.

Along axes that no operation of the step mixes, parts of the step are independent.  If there are no other axes, one thread takes one
element through all steps, and states stay in registers, as many rows as their taps reach back.  Else a block of threads takes one
row, whose inside lies in shared memory (:mod:`scanviz.engine.backends.cupy.kernel_rows`).

The axes are found in ``elements``, the statements for the loop's slots in ``kernel_slots`` and ``kernel_arguments``, those of a
step in ``kernel_rows``, ``kernel_operations`` and ``kernel_draws``; ``kernel_support`` says which operations have code, and
``fused_loop`` launches the kernel.

Rows of sequences are read and rows of results written by strides.  A value without all of the kernel's axes (a scalar beside a
vector) is computed by all threads and written by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scanviz.engine.backends.cupy.kernel_arguments import Argument
from scanviz.engine.backends.cupy.kernel_draws import PRELUDE as DRAWS_PRELUDE
from scanviz.engine.backends.cupy.kernel_rows import ROWS_PRELUDE
from scanviz.engine.backends.cupy.kernel_slots import AHEAD, Slots
from scanviz.engine.backends.cupy.kernel_support import NotFusedError
from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.program.instructions import Instruction, LoopInstruction
from scanviz.engine.program.plan import Plan
from scanviz.engine.scalar.cuda_source import PRELUDE

NAME = "scan_loop"
THREADS = 128  # of a block, one for each element
SHARED_BYTES = 48 * 2**10  # shared memory that every GPU gives a block


class Kernel(NamedTuple):
    """A kernel and its arguments.

    Attributes
    ----------
    source : str
        CUDA C++.
    sizes : tuple of int
        Size of each axis of the kernel.
    row_threads : int
        Threads of a block that takes a row; 0 where one thread takes an element.
    arguments : tuple of Argument
        After the first step, the last one, and the sizes and strides.
    stops : bool
        Whether it has a stop condition, and so reports the number of steps.
    checks : bool
        Whether it reports that a parameter or an index may be out of range.
    blocks_per_step : dict
        Carry of a random state → blocks that a step takes of it.
    """

    source: str
    sizes: tuple[int, ...]
    row_threads: int
    arguments: tuple[Argument, ...]
    stops: bool
    checks: bool
    blocks_per_step: dict[int, int]


def loop_kernel(loop: LoopInstruction, plan: Plan, on_host: Sequence[bool]) -> Kernel:
    """Return the kernel of a loop for the shapes of a plan.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    plan : Plan
        Has the shapes of its registers.
    on_host : sequence of bool
        Whether each non-sequence is a number in the host's memory, which is passed by value.

    Raises
    ------
    NotFusedError
        If the loop is no single kernel.
    """
    try:
        return _Writer(loop, plan, on_host).kernel()
    except ScanvizNotImplementedError as error:
        raise NotFusedError(error.what) from None


class _Writer(Slots):
    """A kernel as it grows."""

    def kernel(self) -> Kernel:
        """Return the kernel."""
        self.read_slots()
        for index in self.elements.needed:
            instruction = self.body.instructions[index]
            assert isinstance(instruction, Instruction)
            self.rows.add(instruction, is_invariant=index in self.plan.invariant)
        self.write_slots()
        self.rows.schedule()
        source = self._source()
        if self.rows.shared_bytes > SHARED_BYTES:
            raise NotFusedError(f"a row takes {self.rows.shared_bytes} bytes of shared memory")
        return Kernel(
            source,
            self.elements.sizes,
            self.rows.threads if self.rows.is_used else 0,
            tuple(self.given.arguments),
            self.loop.until is not None,
            self.rows.checks,
            self.draws.blocks_per_step,
        )

    # the text

    def _source(self) -> str:
        parameters = [
            "const long long first",
            "const long long last",
            "const sv_sizes z",
            *self.given.parameters,
        ]
        if self.loop.until is not None or self.rows.checks:
            parameters.append("long long* done")
        sync = ["__syncthreads();"] if self.rows.is_used else []
        element = "blockIdx.x" if self.rows.is_used else "(long long)blockIdx.x * blockDim.x + threadIdx.x"
        body = [
            *self.rows.declarations(),
            f"const long long i = {element};",
            "if (i >= z.of[0]) return;",
            *_indices(len(self.elements.sizes)),
            *self.before,
            *self.rows.before,
            *sync,
            *(["bool stopped = false;"] if self.loop.until is not None else []),
            "long long t = first;",
            *self._steps(),
            *self.after,
            *self._report(),
        ]
        return "\n".join(
            [
                PRELUDE
                + DRAWS_PRELUDE
                + ROWS_PRELUDE
                + f"struct sv_sizes {{ long long of[{self.given.numbers}]; }};",
                self.functions.text(),
                f'extern "C" __global__ void {NAME}({", ".join(parameters)}) {{',
                *_indented(body),
                "}",
                "",
            ]
        )

    def _steps(self) -> Iterator[str]:
        """Yield the loop over the steps, several at once where rows are read ahead."""
        sync = ["__syncthreads();"] if self.rows.is_used else []
        step = [*self.begin_step, *self.rows.step, *self.after_step, *sync, *self._stop()]
        if not self.ahead:
            yield from ["for (; t < last; ++t) {", *_indented(step), "}"]
            return
        going = " && !stopped" if self.loop.until is not None else ""
        yield f"while (t < last{going}) {{"
        yield f"  const int steps = last - t < {AHEAD} ? (int)(last - t) : {AHEAD};"
        yield from _indented(self.ahead)
        yield "  #pragma unroll"
        yield f"  for (int j = 0; j < {AHEAD}; ++j, ++t) {{"
        yield "    if (j == steps) break;"
        yield from _indented(_indented(step))
        yield from ["  }", "}"]

    def _stop(self) -> Iterator[str]:
        if self.loop.until is not None:
            yield "if (stop) { ++t; stopped = true; break; }"

    def _report(self) -> Iterator[str]:
        if self.loop.until is not None:
            yield f"if (i == 0) {self.rows.by_one}{{ done[0] = t; done[1] = stopped; }}"


def _indices(axes: int) -> Iterator[str]:
    """Yield the statements that find an element's place along each axis; the last axis is the fastest."""
    rest = "i"
    for axis in reversed(range(axes)):
        yield f"const long long i{axis} = {rest if axis == 0 else f'{rest} % z.of[{1 + axis}]'};"
        rest = f"({rest} / z.of[{1 + axis}])"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
