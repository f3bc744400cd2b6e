"""What a step costs on NumPy, by estimate: from the operations and the sizes alone, so that it is the same everywhere and always.

A call of NumPy costs some 200 ns however little there is to do, one on single numbers less, one of what NumPy writes in Python many
times that, as the operation's facts say; then come operations and bytes.  The figures are those of one machine, rounded: it is
enough to know whether steps take a microsecond or ten.
"""

from __future__ import annotations

from scanviz.engine.program.instructions import Instruction, Program, is_scalar
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.work import Work, work_of

CALL_NS = 220.0  # of an addition of arrays
SCALAR_NS = 40.0  # of an addition or the like of single numbers, which Python does
STEP_NS = 50.0  # of going on to the next
FEW_FLOPS = 2
ELEMENTWISE_FLOP_NS = 0.12
PRODUCT_FLOP_NS = 0.05
BYTE_NS = 0.02
UNKNOWN_NS = (
    2_000.0  # of an operation whose work is not known, and of what is inside the step: a loop, a branch
)


def step_ns(program: Program, plan: Plan) -> float:
    """Return about how many nanoseconds a step takes on NumPy, by its plan.

    Examples
    --------
    >>> import numpy as np
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), x, T.zeros((64,)))
    >>> f = scanviz.function([x], h, mode="numpy")
    >>> _ = f(np.ones((5, 64)))
    >>> [loop] = [held for held in f.program.instructions if hasattr(held, "body")]
    >>> 500 < step_ns(loop.body, f.memory_plans()[loop.key]) < 2000
    True
    """
    total = STEP_NS
    for index, (instruction, work) in enumerate(
        zip(program.instructions, work_of(program, plan), strict=True)
    ):
        if index in plan.idle:
            continue
        if not isinstance(instruction, Instruction) or work is None:
            total += UNKNOWN_NS
        elif instruction.op.facts.size != "is":
            scalar = all(is_scalar(program, number) for number in (*instruction.inputs, *instruction.outputs))
            total += SCALAR_NS if scalar and work.flops <= FEW_FLOPS else call_ns(instruction)
            total += work_ns(work)
    return total


def call_ns(instruction: Instruction) -> float:
    """Return about how many nanoseconds a call of an operation on arrays takes, without what its size asks for."""
    return CALL_NS * instruction.op.facts.calls


def work_ns(work: Work) -> float:
    """Return about how many nanoseconds NumPy takes for the operations and the bytes of an instruction, without what a call takes.

    Examples
    --------
    >>> work_ns(Work(flops=1000, product_flops=0, bytes=8000))
    280.0
    """
    return (
        (work.flops - work.product_flops) * ELEMENTWISE_FLOP_NS
        + work.product_flops * PRODUCT_FLOP_NS
        + work.bytes * BYTE_NS
    )
