"""A stand-in for CuPy: NumPy arrays in a class that NumPy refuses to touch, as CuPy's are.

Any mixing of host and device arrays that CuPy would refuse fails here too.
"""

from __future__ import annotations

import types

import numpy as np


class FakeArray:
    """An array "on the device"."""

    __array_priority__ = 100
    __array_ufunc__ = None

    def __init__(self, array):
        self.array = np.asarray(array)

    __cuda_array_interface__ = property(lambda self: {"shape": self.shape})
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    nbytes = property(lambda self: self.array.nbytes)
    size = property(lambda self: self.array.size)

    def __array__(self, *arguments, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self):
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
        return FakeArray(self.array[unwrap_index(index)])

    def __setitem__(self, index, value):
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError("a NumPy array cannot be stored in a device array")
        self.array[unwrap_index(index)] = unwrap(value)

    def __getattr__(self, name):
        if name in ("copy", "astype", "reshape", "transpose", "max", "sum"):
            method = getattr(self.array, name)
            return lambda *arguments, **options: FakeArray(method(*arguments, **options))
        raise AttributeError(name)


def unwrap(value):
    if isinstance(value, FakeArray):
        return value.array
    if isinstance(value, list | tuple):
        return type(value)(unwrap(each) for each in value)
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def unwrap_index(index):
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(each.array if isinstance(each, FakeArray) else each for each in parts)


def _binary(name):
    function = getattr(np, name)
    return (lambda self, other: FakeArray(function(self.array, unwrap(other)))), (
        lambda self, other: FakeArray(function(unwrap(other), self.array))
    )


for _symbol, _name in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "true_divide"),
    ("ne", "not_equal"),
):
    _forward, _backward = _binary(_name)
    setattr(FakeArray, f"__{_symbol}__", _forward)
    setattr(FakeArray, f"__r{_symbol}__", _backward)
FakeArray.__neg__ = lambda self: FakeArray(-self.array)

# what cupy 14 lacks of numpy 2, by name
ABSENT = {
    "block",
    "einsum_path",
    "frompyfunc",
    "geomspace",
    "insert",
    "nditer",
    "vecdot",
    "matvec",
    "vecmat",
    "unstack",
    "positive_",
}


class _Ufunc:
    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments, **options):
        return FakeArray(self.function(*(unwrap(each) for each in arguments), **options))

    def at(self, array, place, value):
        self.function.at(array.array, unwrap_index(place), unwrap(value))


class FakeCupy(types.ModuleType):
    """A module with CuPy's names."""

    def __init__(self):
        super().__init__("fake_cupy")
        self.linalg = types.SimpleNamespace(
            **{name: _Ufunc(getattr(np.linalg, name)) for name in ("inv", "det", "solve")}
        )

    def __getattr__(self, name):
        if name in ABSENT or name.startswith("__"):
            raise AttributeError(name)
        return _Ufunc(getattr(np, name))

    @staticmethod
    def asarray(value):
        return value if isinstance(value, FakeArray) else FakeArray(np.array(value))

    @staticmethod
    def array(value):
        return FakeArray(np.array(unwrap(value)))
