"""Python's operators and NumPy's method names on variables.

The graph layer does not know what ``+`` means: the tensor layer fills the registration point :data:`MEANINGS` at
import, one function a name.  Each method below only looks its meaning up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from scanviz.engine.errors import InternalError

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Variable


def _refusals() -> ModuleType:
    """Return the module of refusals, imported on first use."""
    from scanviz.engine.graph import refusals

    return refusals


MEANINGS: dict[str, Callable[..., Any]] = {}
# Names whose meaning is in a file that nothing has imported yet → what imports it.
LAZY: dict[str, Callable[[], object]] = {}


def has_meaning(name: str) -> bool:
    """Return whether a name has a meaning."""
    return name in MEANINGS or name in LAZY


def _known(name: str) -> Callable[..., Any] | None:
    """Return the meaning of a name, None if it has none; import its module if needed."""
    load = LAZY.get(name)
    if load is not None:  # another thread may be in the middle of it: then this one waits
        load()
        LAZY.pop(name, None)
    return MEANINGS.get(name)


def meaning_of(name: str) -> Callable[..., Any]:
    """Return the meaning of a name that surely has one."""
    meaning = MEANINGS.get(name) if name not in LAZY else _known(name)
    if meaning is None:
        raise InternalError(f"no layer gives a meaning to `{name}`: import scanviz.tensor")
    return meaning


def _mean(name: str, *arguments: Any, **options: Any) -> Any:
    return meaning_of(name)(*arguments, **options)


def _binary(name: str) -> tuple[Callable[[Any, Any], Variable], Callable[[Any, Any], Variable]]:
    def forward(self: Any, other: Any) -> Any:
        return _mean(name, self, other)

    def backward(self: Any, other: Any) -> Any:
        return _mean(name, other, self)

    return forward, backward


def _unary(name: str) -> Callable[[Any], Variable]:
    return lambda self: _mean(name, self)


class Syntax:
    """Operators and methods of a symbolic variable, in NumPy's names."""

    __slots__ = ()
    __array_priority__ = 1000  # older array libraries on the left defer to the variable

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("operator:**")[0], _binary("power")[1]
    __matmul__, __rmatmul__ = _binary("matmul")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__ = _binary("left_shift")
    __rshift__, __rrshift__ = _binary("right_shift")
    __lt__, __le__ = _binary("less")[0], _binary("less_equal")[0]
    __gt__, __ge__ = _binary("greater")[0], _binary("greater_equal")[0]

    __neg__, __pos__, __abs__ = _unary("negative"), _unary("positive"), _unary("absolute")
    __invert__ = _unary("invert")
    __floor__, __ceil__, __trunc__ = _unary("floor"), _unary("ceil"), _unary("trunc")

    def __getitem__(self, index: Any) -> Variable:
        return _mean("getitem", self, index)  # type: ignore[no-any-return]

    def __round__(self, decimals: int | None = None) -> Variable:
        return _mean("round", self, *(() if decimals is None else (decimals,)))  # type: ignore[no-any-return]

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return _mean("floor_divide", self, other), _mean("mod", self, other)

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return _mean("floor_divide", other, self), _mean("mod", other, self)

    def __getattr__(self, name: str) -> Any:
        """Look up NumPy's method and attribute names (``sum``, ``T``, ``shape``, …) where the tensor layer put them."""
        if name.startswith("_"):  # what Python, NumPy and notebooks ask of anything
            raise AttributeError(name)
        attribute = _known(f"attribute:{name}")
        if attribute is not None:
            return attribute(self)
        method = _known(f"method:{name}")
        if method is None:
            raise _refusals().no_attribute(self, name, _added_names(), meaning_of("function_call"))
        return MethodType(method, self)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_added_names()})

    def __iter__(self) -> Iterator[Variable]:
        return iter(_mean("iterate", self))

    # NumPy asks these of an operand that is no array; the tensor layer knows which function of its own to name.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _mean("numpy_ufunc", self, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _mean("numpy_function", self, function)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return _mean("numpy_array", self)

    # What only a value could answer.

    def __bool__(self) -> bool:
        raise _refusals().no_truth(self)

    def __len__(self) -> int:
        raise _refusals().no_length(self)

    def __float__(self) -> float:
        raise _refusals().no_number(self, meaning_of("function_name"))

    def __int__(self) -> int:
        raise _refusals().no_number(self, meaning_of("function_name"))

    def __complex__(self) -> complex:
        raise _refusals().no_number(self, meaning_of("function_name"))

    def __index__(self) -> int:
        raise _refusals().no_count(self)

    def __contains__(self, sought: object) -> bool:
        raise _refusals().no_members(self, sought)

    def __format__(self, specification: str) -> str:
        if specification:
            raise _refusals().no_format(self, specification)
        return str(self)

    def __setitem__(self, key: object, value: object) -> None:
        raise _refusals().no_assignment(self, key, value)

    def __delitem__(self, key: object) -> None:
        raise _refusals().no_deletion(self, key)


def _added_names() -> list[str]:
    return [name.split(":", 1)[1] for name in (*tuple(MEANINGS), *tuple(LAZY)) if ":" in name]


Function = TypeVar("Function", bound=Callable[..., Any])


def meaning(*names: str) -> Callable[[Function], Function]:
    """Decorate the function that gives names a meaning: ``"add"``, ``"method:sum"``, ``"attribute:T"``."""

    def keep(function: Function) -> Function:
        for name in names:
            MEANINGS[name] = function
        return function

    return keep
