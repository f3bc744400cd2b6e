"""A stand-in for CuPy: NumPy arrays in a class that NumPy refuses to touch, as CuPy's are.

Any mixing of host and device arrays that CuPy would refuse fails here too, and so does any name that is not listed as
offered by CuPy 14.  Where CuPy differs from NumPy, so does the stand-in: indices outside wrap, elements are views,
additions at repeated places know few dtypes, singular matrices are reported only on demand, ``solve`` broadcasts nothing.
``test_stand_in.py`` holds it to CuPy itself.
"""

from __future__ import annotations

import contextlib
import types
import warnings

import numpy as np

from scanviz.engine.errors import BackendError

NAMES = """
add subtract multiply true_divide floor_divide remainder power maximum minimum fmax fmin arctan2 hypot logaddexp copysign
equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
bitwise_xor invert left_shift right_shift negative absolute sign reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10
log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg floor ceil trunc rint isnan
isinf isfinite signbit where sum prod max min all any argmax argmin cumsum cumprod stack zeros empty eye tril triu
diagonal diag concatenate repeat broadcast_to moveaxis dot matmul tensordot sort argsort may_share_memory
searchsorted bincount flatnonzero arange fmod
"""
OFFERED = frozenset(NAMES.split())
SPECIAL = ("erf", "erfc", "erfinv", "gammaln", "digamma", "polygamma", "betaln", "gammainc", "gammaincc")
LINALG = ("inv", "det", "slogdet", "cholesky", "solve", "eigh", "eigvalsh", "qr", "svd", "pinv", "lstsq")
METHODS = ("copy", "astype", "reshape", "transpose", "swapaxes", "max", "min", "sum", "any", "all")
ADDED_AT_PLACES = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")


class FakeArray:
    """An array "on the device"."""

    __array_priority__ = 100
    __array_ufunc__ = None

    def __init__(self, array):
        self.array = np.asarray(array)

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    nbytes = property(lambda self: self.array.nbytes)
    size = property(lambda self: self.array.size)
    itemsize = property(lambda self: self.array.itemsize)
    strides = property(lambda self: self.array.strides)

    @property
    def __cuda_array_interface__(self):
        text = self.array.__array_interface__
        return {key: text[key] for key in ("shape", "typestr", "data", "strides")} | {"version": 3}

    def __array__(self, *arguments, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self, stream=None):
        return self.array.copy()

    def __len__(self):
        return len(self.array)

    def __int__(self):
        return int(self.array)

    def __bool__(self):
        return bool(self.array)

    def item(self):
        return self.array.item()

    def tolist(self):
        return self.array.tolist()

    def __getitem__(self, index):
        place = wrapped_index(self.array.shape, index)
        if not any(part is Ellipsis for part in place):
            place = (*place, ...)  # an element is an array and shares memory
        return FakeArray(self.array[place])

    def __setitem__(self, index, value):
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        if isinstance(value, np.ndarray):
            value = value.item()  # the one NumPy array that CuPy stores
        self.array[wrapped_index(self.array.shape, index)] = unwrap(value)

    def __getattr__(self, name):
        if name in METHODS:
            method = getattr(self.array, name)
            return lambda *arguments, **options: FakeArray(method(*arguments, **options))
        raise AttributeError(name)


def unwrap(value):
    """Return NumPy's form of a value, refusing arrays of the host as CuPy does."""
    if isinstance(value, FakeArray):
        return value.array
    if isinstance(value, list | tuple):
        return type(value)(unwrap(each) for each in value)
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def wrapped_index(shape, index):
    """Return an index for NumPy; integer arrays are wrapped into the array, as CuPy does."""
    parts = index if isinstance(index, tuple) else (index,)
    rest = len(shape) - sum(axes_of(part) for part in parts)
    found, axis = [], 0
    for part in parts:
        if isinstance(part, np.ndarray) and part.ndim:
            part = FakeArray(part)  # CuPy moves it
        array = part.array if isinstance(part, FakeArray) else part
        if isinstance(part, int | np.integer) and not -shape[axis] <= part < shape[axis]:
            raise IndexError(f"Index {part} is out of bounds for axis {axis} with size {shape[axis]}")
        if isinstance(part, FakeArray) and array.dtype.kind in "iu" and shape[axis]:
            array = array % shape[axis]
        found.append(array)
        axis += rest if part is Ellipsis else axes_of(part)
    return tuple(found)


def axes_of(part):
    """Return how many axes a part of an index takes, but for an ellipsis."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, FakeArray) and part.dtype == bool else 1


def _binary(name):
    function = getattr(np, name)
    return (lambda self, other: FakeArray(function(self.array, unwrap(other)))), (
        lambda self, other: FakeArray(function(unwrap(other), self.array))
    )


for _symbol, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    _forward, _backward = _binary(_name)
    setattr(FakeArray, f"__{_symbol}__", _forward)
    setattr(FakeArray, f"__r{_symbol}__", _backward)
FakeArray.__neg__ = lambda self: FakeArray(-self.array)
FakeArray.__hash__ = None


def _floor_divide(x, y, **options):
    if np.result_type(x, y).kind != "f":
        return np.floor_divide(x, y, **options)
    return np.floor(np.true_divide(x, y), **options)


def _remainder(x, y, **options):
    if np.result_type(x, y).kind != "f":
        return np.remainder(x, y, **options)
    return np.subtract(x, np.floor(np.true_divide(x, y)) * y, **options)


def _shifted(shift):
    """Return a shift that reads the lowest bits of the second number alone, as processors do."""
    return lambda x, y, **options: shift(x, y % (8 * np.result_type(x, y).itemsize), **options)


def _signless(logical):
    """Return a logical function that takes no negative int64 beside uint64 for true."""

    def call(x, y, **options):
        if {np.asarray(x).dtype, np.asarray(y).dtype} == {np.dtype("int64"), np.dtype("uint64")}:
            x, y = np.maximum(x, 0), np.maximum(y, 0)
        return logical(x, y, **options)

    return call


UNLIKE_NUMPY = {
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "left_shift": _shifted(np.left_shift),
    "right_shift": _shifted(np.right_shift),
    "logical_and": _signless(np.logical_and),
    "logical_or": _signless(np.logical_or),
    "logical_xor": _signless(np.logical_xor),
}


class _Function:
    """A NumPy function that takes and gives arrays of the device."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments, out=None, **options):
        given = [unwrap(argument) for argument in arguments]
        if out is not None:
            written = self.function(*given, out=unwrap(out), **options)
            if self.function is np.matmul and written.ndim > max(array.ndim for array in given):
                raise ValueError("Output array has an invalid size")  # NumPy repeats the product
            return out
        result = self.function(*given, **options)
        return tuple(map(FakeArray, result)) if isinstance(result, tuple) else FakeArray(result)

    def at(self, array, place, value):
        if self.function is not np.add:
            raise NotImplementedError("only additions, here")
        if str(array.dtype) not in ADDED_AT_PLACES:
            raise TypeError(f"cupy.add.at only supports {', '.join(ADDED_AT_PLACES)} as data type")
        self.function.at(array.array, wrapped_index(array.shape, place), unwrap(value))


class _Linalg:
    """``cupy.linalg``: singular matrices raise only inside of ``errstate(linalg="raise")``."""

    def __init__(self, module):
        self.module = module
        for name in LINALG:
            setattr(self, name, self._reporting(getattr(np.linalg, name), name))

    def _reporting(self, function, name):
        def call(*arrays, **options):
            if name == "solve":
                a, b = arrays
                assert b.ndim == 1 or a.shape[:-1] == b.shape[:-1], "cupy.linalg.solve broadcasts no batches"
            try:
                return _Function(function)(*arrays, **options)
            except np.linalg.LinAlgError:
                if self.module.raising:
                    raise
                return FakeArray(np.full(arrays[-1].shape, np.nan))

        return call


def _solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False):
    import scipy.linalg

    assert a.shape[:-1] == b.shape[:-1], "cupyx.scipy.linalg.solve_triangular broadcasts no batches"
    a, b = unwrap(a), unwrap(b)
    found = np.empty(b.shape, np.promote_types(b.dtype, "float32"))
    for place in np.ndindex(a.shape[:-2]):
        found[place] = scipy.linalg.solve_triangular(
            a[place], b[place], trans=trans, lower=lower, unit_diagonal=unit_diagonal
        )
    return FakeArray(found)


def _lu_factor(a, overwrite_a=False, check_finite=True):
    import scipy.linalg

    _check_system(a, check_finite)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own
        factors, pivots = scipy.linalg.lu_factor(unwrap(a), check_finite=False)
    zeros = np.flatnonzero(np.diagonal(factors) == 0)
    if zeros.size:
        message = f"Diagonal number {zeros[0] + 1} is exactly zero. Singular matrix."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return FakeArray(factors), FakeArray(pivots)


def _solve_by_lu_factor(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    import scipy.linalg

    factors, pivots = lu_and_piv
    _check_system(factors, check_finite)
    if len(factors) != len(b):
        raise ValueError("incompatible dimensions.")
    side = b.astype(factors.dtype)
    if check_finite and not np.isfinite(unwrap(side)).all():
        raise ValueError("array must not contain infs or NaNs")
    found = scipy.linalg.lu_solve((unwrap(factors), unwrap(pivots)), unwrap(side), trans, check_finite=False)
    return FakeArray(found)


def _check_system(matrix, check_finite):
    if matrix.ndim != 2:
        raise np.linalg.LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be two-dimensional")
    if matrix.dtype not in (np.float32, np.float64):
        raise NotImplementedError("Only float32, float64, complex64 and complex128 are supported.")
    if check_finite and not np.isfinite(unwrap(matrix)).all():
        raise ValueError("array must not contain infs or NaNs")


class FakeStream:
    """A stream; an event is the stream that it was recorded in."""

    def __init__(self, synchronize):
        self.synchronize, self.waited_for = synchronize, []

    def record(self):
        return self

    def wait_event(self, event):
        self.waited_for.append(event)


def _no_kernels(source, name):
    raise BackendError("the stand-in runs no kernels")


class FakeCupy(types.ModuleType):
    """A module with CuPy's names.

    Parameters
    ----------
    kernel_launcher : callable
        ``kernel_launcher(source, name)`` returns what launches a kernel.
    """

    def __init__(self, kernel_launcher=_no_kernels):
        import scipy.special

        super().__init__("fake_cupy")
        self.kernel_launcher = kernel_launcher
        self.raising, self.waits = False, 0
        self.linalg = _Linalg(self)
        special = {name: _Function(getattr(scipy.special, name)) for name in SPECIAL}
        self.extensions = {
            "": types.SimpleNamespace(errstate=self._errstate),
            "scipy.special": types.SimpleNamespace(**special),
            "scipy.linalg": types.SimpleNamespace(
                solve_triangular=_solve_triangular, lu_factor=_lu_factor, lu_solve=_solve_by_lu_factor
            ),
        }
        self.device, self.stream = 0, FakeStream(self._wait)
        runtime = types.SimpleNamespace(getDevice=lambda: self.device)
        self.cuda = types.SimpleNamespace(get_current_stream=lambda: self.stream, runtime=runtime)

    def __getattr__(self, name):
        if name not in OFFERED:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        return _Function(UNLIKE_NUMPY.get(name) or getattr(np, name))

    @contextlib.contextmanager
    def _errstate(self, linalg):
        before, self.raising = self.raising, linalg == "raise"
        try:
            yield
        finally:
            self.raising = before

    def _wait(self):
        self.waits += 1

    @staticmethod
    def array(value, dtype=None):
        made = np.array(unwrap(value) if isinstance(value, FakeArray) else value, dtype)
        if made.dtype.kind not in "biuf":
            raise ValueError(f"Unsupported dtype {made.dtype}")
        return FakeArray(made)

    @classmethod
    def asarray(cls, value, dtype=None):
        kept = isinstance(value, FakeArray) and dtype in (None, value.dtype)
        return value if kept else cls.array(value, dtype)

    @staticmethod
    def may_share_memory(first, second):
        return np.may_share_memory(unwrap(first), unwrap(second))
