"""What one application of an instruction does, in numbers, and about how long NumPy and machine code take for that.

The figures are those of one machine, rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

ELEMENTWISE_FLOP_NS, PRODUCT_FLOP_NS, BYTE_NS = 0.12, 0.05, 0.008
MACHINE_FLOP_NS, MACHINE_PRODUCT_FLOP_NS, MACHINE_BYTE_NS = 0.03, 0.02, 0.004  # in machine code


class Work(Struct, frozen=True):
    """What one application of an instruction does.

    Attributes
    ----------
    flops : int
        Floating-point operations.
    product_flops : int
        Those of them that are multiplications and additions of a product of matrices.
    bytes : int
        Bytes read and written.
    """

    flops: int
    product_flops: int
    bytes: int


def same_work(*found: list[Work | None]) -> list[Work | None]:
    """Return what instructions do in each of some calls, None where that is not known or not the same in all."""
    return [one[0] if all(other == one[0] for other in one) else None for one in zip(*found, strict=True)]


def weights_in(group: Sequence[int], work: Sequence[Work | None]) -> dict[int, int]:
    """Return by what the time of instructions that are done as one is shared out: by what each does to an element.

    Examples
    --------
    >>> weights_in([0, 2, 3], [Work(64, 0, 512), None, Work(640, 0, 0), None])
    {0: 64, 2: 640, 3: 1}
    """
    return {index: 1 if (known := work[index]) is None else max(1, known.flops) for index in group}


def work_ns(work: Work) -> float:
    """Return about how many nanoseconds NumPy takes for the operations and the bytes of an instruction, without what a call takes.

    Examples
    --------
    >>> work_ns(Work(flops=1000, product_flops=0, bytes=10_000))
    200.0
    """
    return (
        (work.flops - work.product_flops) * ELEMENTWISE_FLOP_NS
        + work.product_flops * PRODUCT_FLOP_NS
        + work.bytes * BYTE_NS
    )


def machine_ns(work: Work) -> float:
    """Return about how many nanoseconds an operation's work takes in machine code."""
    return (
        (work.flops - work.product_flops) * MACHINE_FLOP_NS
        + work.product_flops * MACHINE_PRODUCT_FLOP_NS
        + work.bytes * MACHINE_BYTE_NS
    )
