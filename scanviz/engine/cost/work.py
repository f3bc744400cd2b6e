"""What one application of an instruction does, in numbers: floating-point operations, and bytes that have to move."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


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
