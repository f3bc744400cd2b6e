"""Options of operations that are known when building are checked, and named where they cannot be used."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.ops.support import listed, real, truth, whole

x, m = T.vector("x"), T.matrix("m")


@pytest.mark.parametrize(
    "call",
    [
        lambda: T.sum(x, keepdims="no"),
        lambda: T.sum(x, keepdims=np.array([True, False])),
        lambda: T.var(x, ddof=[]),
        lambda: T.diag(x, k="same"),
        lambda: T.eye(3, k=1.5),
        lambda: T.tril(m, k=None),
        lambda: T.norm(x, ord=[]),
        lambda: T.linalg.cholesky(m, lower=np.ones(2)),
        lambda: T.shape_padleft(x, 2**40),
        lambda: T.vectors(2**70),
        lambda: T.flatten(m, ndim=(1,)),
        lambda: T.stack(3),
        lambda: T.concatenate(len),
        lambda: T.split(x, []),
        lambda: T.specify_shape(x, 1j),
        lambda: T.transpose(m, np.ones((2, 2))),
        lambda: T.zeros(3, dtype=(np.datetime64("2020-01-01"), {})),
        lambda: T.cast(x, (1, 2, 3)),
    ],
)
def test_an_option_that_cannot_be_used_is_an_error_of_ours(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert caught.value.what


def test_the_pair_of_axes_of_a_matrix_norm_is_in_order():
    values = np.array([[1.0, -2.0], [3.0, 4.0], [0.5, -7.0]])
    for axis in ((0, 1), (1, 0), [1, 0], (-1, 0)):
        for order in (1, np.inf, -1, None, "fro"):
            found = T.norm(m, order, axis).eval({m: values})
            np.testing.assert_allclose(found, np.linalg.norm(values, order, tuple(axis)))
    with pytest.raises(ValueError, match="named twice"):
        T.norm(m, 1, (0, 0))


def test_options_accept_numpy_scalars_like_python_numbers():
    assert whole(np.int8(3), "k") == 3 and real(np.float32(2), "o") == 2.0
    assert truth(np.bool_(True), "keepdims") is True and truth(1, "keepdims") is True
    assert listed(range(3), "axes") == [0, 1, 2] and listed((1,), "axes") == [1]
