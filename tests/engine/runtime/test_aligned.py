"""Arrays that machine code works on: long ones begin where a line of the cache does."""

import sys

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.runtime.address import _can_be_read, address
from scanviz.engine.runtime.buffer_pool import LONG, AlignedArrays


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
@pytest.mark.parametrize("shape", [(0, 700), (), (3,), (LONG,), (17, 300), (5, 1, 999)])
def test_long_arrays_are_aligned_to_cache_lines(shape, dtype):
    made = AlignedArrays().empty(shape, dtype)
    assert made.shape == shape and made.dtype == dtype and made.flags.c_contiguous and made.flags.writeable
    assert made.nbytes < LONG or address(made) % 64 == 0
    given = np.arange(made.size).reshape(shape).astype(dtype)
    copied = AlignedArrays().copy(given)
    np.testing.assert_array_equal(copied, given)
    assert copied.dtype == given.dtype and not np.may_share_memory(copied, given)


@pytest.mark.parametrize("mode", ["native", "auto"])
def test_rows_of_native_loops_are_aligned_to_cache_lines(mode):
    if not availability(mode).works:
        pytest.skip(availability(mode).why)
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda v, h: h + v, x, T.zeros((64,)))
    rows = scanviz.function([x], h, mode=mode)(np.ones((100, 64)))
    assert address(rows) % 64 == 0 and rows[-1, 0] == 100


def test_only_cpython_is_known_to_name_objects_by_their_addresses(monkeypatch):
    assert _can_be_read()
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    assert not _can_be_read()
