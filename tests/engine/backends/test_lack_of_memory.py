"""Lack of memory is reported with the shape of the result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import OutOfMemoryError

MADE: dict[str, Callable[..., Any]] = {
    "sum of a row and a column": lambda x, y: x[None] + y[:, None],
    "product": lambda x, y: T.dot(x[:, None], y[None]),
}


@pytest.mark.parametrize("case", MADE)
def test_lack_of_memory_is_reported_with_the_shape_of_the_result(case: str) -> None:
    long = np.zeros(5_000_000)  # the result is more than a process can address
    text = []
    for mode in ("reference", "numpy"):
        x, y = T.vector(), T.vector()
        with pytest.raises(OutOfMemoryError) as raised:
            scanviz.function([x, y], MADE[case](x, y), mode=mode)(long, long)
        text.append(str(raised.value))
    assert text[0] == text[1]
    assert "(an array of shape (5000000, 5000000))" in text[1]


def test_only_unaddressable_sizes_are_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    x = T.vector("x")
    f = scanviz.function([x], T.linalg.norm(T.sort(x)), mode="reference")
    monkeypatch.setattr(np, "sort", full)
    with pytest.raises(OutOfMemoryError, match="sort needs more memory than there is"):
        f(np.ones(3))
