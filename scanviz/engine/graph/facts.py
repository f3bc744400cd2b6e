"""Facts about an operation that other layers rely on, for any inputs: fields of its declaration.

Rules, plans and derivatives use these facts, never a list of operations of their own.  So they treat an operation that is
declared later correctly.  The defaults promise nothing: an operation about which nothing is known is computed where it stands,
as often as it stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from typing import Protocol

    from scanviz.engine.graph.declaration import Op

    class Sizes(Protocol):
        """The sizes of one application as numbers with an arithmetic of their own, such as polynomials in unknown sizes."""

        def given(self, position: int) -> Any:
            """Return the number of elements of an input."""

        def made(self) -> Any:
            """Return the number of elements of the first output."""

        def size(self, position: int, axis: int) -> Any:
            """Return the size of an input along an axis, or 1 without that axis."""


Flops = Callable[["Op", "Sizes"], Any]
Shape = tuple[int | None, ...]  # None for a size that is not known
Along = Mapping[int, int]  # for an axis of a result: input → the axis of it that it goes along
Axes = Callable[["Op", Sequence[Shape], Sequence[Shape]], Sequence[Sequence[Along]]]
Weight = Literal["free", "light", "heavy"]
Sign = Literal["any", "kept", "not negative", "no minus zero"]
ALL_INPUTS = 1 << 16


class Facts(Struct, frozen=True):
    """Facts about an operation.

    Attributes
    ----------
    flops : callable or None
        ``flops(op, sizes)``: floating-point operations of one application; None for none at all.
    weight : str
        ``"free"``: another look at an input, or a size; ``"heavy"``: one call over all rows is much faster than one a row;
        ``"light"``: one pass over memory either way.
    counted : bool
        Whether it counts as an operation; not what is only there in case something was broadcast.
    cheap : bool
        Whether an element costs about as much as an addition, so that computing it again is cheaper than keeping it.
    foldable : bool
        Whether it is computed when building where its inputs are small constants.
    always_view : bool
        Whether its result is a view of input ``declaration.views`` for sure; without it, it may be one.
    never_view : bool
        Whether its result is new memory for sure, although results of its kind may be views by ``declaration.views``.
    overwrites : int
        Number of first inputs that the result may overwrite without changing its value; :data:`ALL_INPUTS` for any.
    overlaps : int
        Position of an input that may be a view of what the result is written over; -1 where none may.
    size : str
        ``"is"``: its result is a size; ``"kept"``: computed of sizes and integers alone it is one; ``"no"``.
    raises : bool
        Whether values may make it raise an error; shapes that do not fit aside.
    sign : str
        Of its result, where that is finite: ``"not negative"``, ``"no minus zero"`` (not negative, nor -0.0), ``"kept"``
        (not negative where no input is), or ``"any"``.
    same_elements : bool
        Whether every element of its result is one of the first input's, in another shape.
    selects : bool
        Whether it picks among elements, so that cotangents of those not picked are exactly 0.
    unit_slope : bool
        Whether its derivatives are the cotangent itself, whole, in part or with the sign changed.
    either_zero : bool
        Whether NumPy gives either of 0.0 and -0.0 where both are among the inputs.
    compares : bool
        Whether it compares two numbers, so that an integer that is no value of the other's dtype has a meaning.
    for_loop : bool
        Whether it does a loop's own work, so that its errors are the loop's.
    effect : bool
        Whether running it does something beside giving its result, such as printing: it is run as often as it stands in the graph.
    axes : callable or None
        ``axes(op, given, made)``, with the shapes of inputs and outputs, gives for each output and each of its axes the axes
        of inputs it goes along: element i there is made of element i there, and of inputs that are not named as a whole.
        None where every axis of every input is mixed (:mod:`scanviz.engine.graph.axes`).
    placed : callable or None
        ``placed(op)`` gives axes that its result goes along although it counts where an element stands there: some of the
        elements alone would be others.  None where there is none.
    product : bool
        Whether it sums products along axes of its inputs, as products of matrices do.
    calls : int
        Of how many additions of short arrays a call takes the time on NumPy, however little there is to do: what NumPy and SciPy
        write in Python takes many.
    one_by_one : int
        Of how many operations NumPy takes the time for each element of an index by arrays, or of what is put there.
    """

    flops: Flops | None = None
    weight: Weight = "light"
    counted: bool = True
    cheap: bool = False
    foldable: bool = False
    always_view: bool = False
    never_view: bool = False
    overwrites: int = 0
    overlaps: int = -1
    size: Literal["no", "is", "kept"] = "no"
    raises: bool = True
    sign: Sign = "any"
    same_elements: bool = False
    selects: bool = False
    unit_slope: bool = False
    either_zero: bool = False
    compares: bool = False
    for_loop: bool = False
    effect: bool = False
    axes: Axes | None = None
    placed: Callable[[Op], Collection[int]] | None = None
    product: bool = False
    calls: int = 1
    one_by_one: int = 0


NOTHING_KNOWN = Facts()
