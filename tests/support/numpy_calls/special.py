"""Calls of special functions, which SciPy has under these names."""

from random import Random
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import FLOATS
from tests.support.numpy_calls.call import NumpyCall, a_dtype, a_shape, call_of, specials, uniform

# name → for each argument the range in which it has a derivative
_DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "xlogy": ((-2, 2), (0.3, 3)),
    "xlog1py": ((-2, 2), (-0.6, 3)),
    "betaln": ((0.5, 3), (0.5, 3)),
    "gammainc": ((0.5, 3), (0.2, 3)),
    "gammaincc": ((0.5, 3), (0.2, 3)),
    "logit": ((0.1, 0.9),),
    "expit": ((-3, 3),),
}
_ONLY_SECOND = ("gammainc", "gammaincc")


def _call(name: str, rng: Random) -> NumpyCall:
    domains = _DOMAINS[name]
    shape = a_shape(rng)
    shapes = [shape, rng.choice((shape, (), shape[1:]))][: len(domains)]
    dtypes = [a_dtype(rng, (*FLOATS, "int64", "int8", "uint16")) for _ in shapes]
    rule = np.exp if name == "expit" else np.true_divide  # of small ints NumPy's exp gives small floats
    made = rule.resolve_dtypes((*([np.dtype(dtype) for dtype in dtypes] * 2)[: rule.nin], None))[-1]
    wide = rng.random() < 0.5

    def theirs(*arrays: Array) -> Array:
        import scipy.special

        found: Array = getattr(scipy.special, name)(*(array.astype(made) for array in arrays)).astype(made)
        return found

    def fill(rng: Random) -> list[Array]:
        if not wide:
            return specials(shapes, dtypes)(rng)
        moving = [uniform([shape], *domain)(rng)[0] for shape, domain in zip(shapes, domains, strict=True)]
        return [array.astype(dtype) for array, dtype in zip(moving, dtypes, strict=True)]

    def points(rng: Random) -> list[Array]:
        found = [uniform([shape], *domain)(rng)[0] for shape, domain in zip(shapes, domains, strict=True)]
        return found[1:] if name in _ONLY_SECOND else found

    ours: Any = getattr(T, name)
    return NumpyCall(
        fill,
        ours,
        theirs,
        f"{name} of {dtypes}",
        tolerance={"float16": 1e-2, "float32": 1e-4}.get(made.name, 1e-10),
        points=points,
        smooth=(lambda x: ours(1.7, x)) if name in _ONLY_SECOND else None,
    )


def _declare(name: str) -> None:
    call_of(name)(lambda rng: _call(name, rng))


for _name in _DOMAINS:
    _declare(_name)
