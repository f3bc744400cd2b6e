"""Declarations of elementwise operations: NumPy meaning, formula, dtypes and facts.

Dtypes are NumPy 2's: the ufunc itself is asked, and Python numbers are weak (``float32 * 2.0`` stays float32).  A declaration
can be called on variables, arrays and numbers.  The formula defines one element, in the scalar language, for all who write code
of their own; where there is no ufunc and no function, it is the meaning too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from scanviz.engine import cost
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Notation, Op
from scanviz.engine.graph.facts import ALL_INPUTS, Facts
from scanviz.engine.graph.nodes import Array, Constant, Variable, build_one, tensor_type
from scanviz.engine.graph.types import BOOLEAN, TensorType, canonical_dtype
from scanviz.engine.ops.support import as_value, as_variable, constant, infer_by, located

if TYPE_CHECKING:
    from scanviz.engine.scalar.blocks import Block
    from scanviz.engine.scalar.formula import Formula
    from scanviz.engine.sizes.dims import Dims

ResultRule = Callable[..., tuple[Any, ...]]
FUNCTION = Facts(
    cost.elementary,
    foldable=True,
    overwrites=ALL_INPUTS,
    size="kept",
    raises=False,
    axes=axes.elementwise,
)
CHEAP = replace(FUNCTION, flops=cost.one, cheap=True)
COMPARES = replace(CHEAP, compares=True)
LINEAR = replace(CHEAP, unit_slope=True)
CHOSEN = replace(LINEAR, selects=True)
EXTREME = replace(CHOSEN, sign="kept")
KEPT = replace(FUNCTION, sign="kept")
POSITIVE = replace(FUNCTION, sign="no minus zero")


class ElementwiseDeclaration(Declaration):
    """An elementwise operation: declared once, and called to apply it.

    Parameters
    ----------
    numpy : callable or str
        A ufunc, or a function with ``out`` as last positional argument, whose name it takes; or its name alone, where the
        formula is the meaning.
    formula : Formula or callable
        The formula of one element, over arguments in the dtypes of the rule; or a function from the name of the operation to
        it, called at first use.
    doc : str
        One line.
    name : str, optional
        Another name than that of ``numpy``.
    like : ufunc, optional
        The ufunc whose dtype rule and arity hold, where ``numpy`` is not a ufunc itself.
    result : callable, optional
        Another dtype rule: ``result(*kinds)`` gives the dtypes of the inputs as computed with, and then of the output.  A kind is a
        dtype or, for a weak Python number, its type.
    facts : Facts, optional
        Its facts; by default those of an elementary function.
    truths : int, optional
        The input from which on truth values are compared or chosen from; None where they are an accident.

    Attributes
    ----------
    function : callable
        ``function(*arrays)`` or ``function(*arrays, out=buffer)``: the NumPy meaning.
    block : callable
        ``block(*dtypes)``: the dtypes that inputs of these dtypes are computed in, and the formula for those; TypeError where the
        operation has no meaning for them.
    """

    __slots__ = ("_formula", "block", "function", "result", "truths")
    arity: int
    function: Callable[..., Any]
    result: ResultRule
    block: Callable[..., tuple[tuple[str, ...], Block]]

    def __init__(
        self,
        numpy: Callable[..., Any] | str,
        formula: Formula | Callable[[str], Formula],
        doc: str,
        *,
        name: str | None = None,
        like: np.ufunc | None = None,
        result: ResultRule | None = None,
        symbol: str | None = None,
        notation: Notation | None = None,
        arity: int | None = None,
        facts: Facts = FUNCTION,
        truths: int | None = None,
    ):
        function = None if isinstance(numpy, str) else numpy
        reference = like if like is not None else function
        if result is None:
            assert isinstance(reference, np.ufunc)
            result = by_ufunc(reference)
        super().__init__(
            name or (numpy if isinstance(numpy, str) else numpy.__name__),
            "elementwise",
            arity=arity if arity is not None else getattr(reference, "nin", 1),
            doc=doc,
            infer=_infer,
            perform=_perform,
            shapes=_shapes,
            symbol=symbol,
            notation=notation,
            facts=facts,
        )
        self.function = self._by_formula if function is None else function
        self.truths, self._formula = truths, formula
        self.result, self.block = lru_cache(maxsize=1024)(result), lru_cache(maxsize=256)(self._block)

    @property
    def formula(self) -> Formula:
        """The formula of one element in the scalar language."""
        given = self._formula
        if callable(given):
            given = self._formula = given(self.name)
        return given

    def _block(self, *dtypes: Any) -> tuple[tuple[str, ...], Block]:
        *computed, made = (dtype.name for dtype in self.result(*map(np.dtype, dtypes)))
        return tuple(computed), self.formula.block(computed, made)

    def _by_formula(self, *values: Any, out: Array | None = None) -> Array:
        """Evaluate the formula on arrays: the meaning if NumPy has none."""
        from scanviz.engine.scalar.array_source import on_arrays  # when one is run: most are ufuncs

        arrays = [np.asarray(value) for value in values[: self.arity]]
        out = values[self.arity] if len(values) > self.arity else out
        computed, block = self.block(*(array.dtype for array in arrays))
        with np.errstate(all="ignore"):
            (found,) = on_arrays(block)(
                *(array.astype(dtype, copy=False) for array, dtype in zip(arrays, computed, strict=True))
            )
        if out is None:
            return np.array(found)
        np.copyto(out, found)
        return out

    def __call__(self, *arguments: Any, name: str | None = None) -> Variable:
        """Apply the operation to variables, arrays and Python numbers, and return the new variable."""
        return apply_elementwise(self, arguments, name)


def apply_elementwise(
    declaration: ElementwiseDeclaration, arguments: Sequence[Any], name: str | None = None
) -> Variable:
    """Apply an elementwise declaration, giving weak Python numbers the dtype that NumPy computes with."""
    if len(arguments) != declaration.arity:
        raise ScanvizTypeError(
            f"{declaration.name} takes {declaration.arity} arguments", found=f"{len(arguments)}"
        )
    weak = [type(argument) in (int, float) for argument in arguments]  # not bool: NumPy has no weak bool
    op = Op(declaration)
    if any(type(argument) is bool for argument in arguments):
        arguments = _truths(declaration, arguments)
    if not any(weak) or all(weak):
        return build_one(op, *(as_variable(argument) for argument in arguments), name=name)
    inputs = [value if soft else as_variable(value) for value, soft in zip(arguments, weak, strict=True)]
    try:
        whole = _with_strong_numbers(declaration, inputs)
    except ScanvizTypeError:
        raise
    except TypeError as error:
        shown = [as_variable(argument) for argument in arguments]
        raise located(ScanvizTypeError(f"no meaning for these dtypes ({error})"), op, shown) from None
    return build_one(op, *whole, name=name)


def _with_strong_numbers(
    declaration: ElementwiseDeclaration, inputs: Sequence[Variable | float]
) -> list[Variable]:
    """Return inputs with constants for Python numbers, of the dtypes that NumPy gives them beside the others."""
    kinds: list[Any] = [
        np.dtype(tensor_type(value).dtype) if isinstance(value, Variable) else type(value) for value in inputs
    ]
    computed = declaration.result(*kinds)
    return [
        value if isinstance(value, Variable) else weak_constant(declaration, value, kind.name)
        for value, kind in zip(inputs, computed, strict=False)
    ]


def is_truth(value: Any) -> bool:
    """Return whether a value is a truth value, of Python or symbolic."""
    if isinstance(value, Variable):
        return isinstance(value.type, TensorType) and value.type.dtype == BOOLEAN
    return type(value) is bool


def _truths(declaration: ElementwiseDeclaration, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with Python bools as constants where they are chosen from or compared with truth values.

    Anywhere else a Python bool most often is what ``a == b`` gave, and is refused.
    """
    first = len(arguments) if declaration.truths is None else declaration.truths
    truths = [argument for argument in arguments[first:] if is_truth(argument)]
    meant = len(truths) == 2 and (first == 1 or any(isinstance(truth, Variable) for truth in truths))
    return [
        as_value(argument) if meant and k >= first else as_variable(argument)
        for k, argument in enumerate(arguments)
    ]


def weak_constant(declaration: ElementwiseDeclaration, value: float, dtype: str) -> Constant:
    """Return a constant of a Python number that remembers it was one; any integer can be compared with."""
    try:
        strong = constant(value, dtype)
    except ScanvizValueError:
        if not Op(declaration).facts.compares or not isinstance(value, int):
            raise
        strong = constant(value)
    return Constant(strong.type, strong.value, weak=value)


def _dtypes(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    try:
        return (canonical_dtype(declaration.result(*(np.dtype(kind.dtype) for kind in kinds))[-1]),)
    except TypeError:
        raise ScanvizTypeError(f"no meaning for {', '.join(kind.dtype for kind in kinds)}") from None


_infer = infer_by(_dtypes)  # one for all of them


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (dims.broadcast(*dims.shapes),)


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    return (declaration.function(*values),)


def by_ufunc(ufunc: np.ufunc) -> ResultRule:
    """Return the dtype rule that asks a ufunc."""
    blanks = (None,) * ufunc.nout
    return lambda *kinds: ufunc.resolve_dtypes((*kinds, *blanks))


elementwise = ElementwiseDeclaration  # as declarations are written
