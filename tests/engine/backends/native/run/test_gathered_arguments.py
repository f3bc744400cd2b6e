"""Arguments of native code are in C order; lack of memory for a copy is reported as such."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T


@pytest.mark.parametrize("as_sequence", [True, False])
def test_a_copy_too_large_for_memory_is_not_reported_as_rows(as_sequence):
    x = T.tensor3("x")
    sums, _ = scanviz.scan(
        lambda *given: given[0] + T.sum(given[1]) if not as_sequence else given[1] + T.sum(given[0]),
        x if as_sequence else None,
        0.0,
        None if as_sequence else x,
        n_steps=None if as_sequence else 3,
        name="sums",
    )
    f = scanviz.function([x], sums[-1], mode=scanviz.Mode("native", rewrites="none"))
    with pytest.raises(MemoryError) as raised:
        f(np.broadcast_to(np.ones(()), (10, 10**7, 10**6)))
    assert "loop `sums` needs" in str(raised.value) and "for a copy of `x`" in str(raised.value)
    assert "row" not in raised.value.fix


def test_memory_of_a_steps_temporaries_is_not_reported_as_rows():
    x = T.matrix("x")
    sums, _ = scanviz.scan(lambda x_t, s: s + T.max(T.outer(x_t, x_t)[::-1] @ x_t), x, 0.0, name="sums")
    f = scanviz.function([x], sums[-1], mode=scanviz.Mode("native", rewrites="none"))
    with pytest.raises(MemoryError) as raised:
        f(np.zeros((3, 10**7)))
    assert "for what a step computes" in str(raised.value)
