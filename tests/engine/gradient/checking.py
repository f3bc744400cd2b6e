"""What tests of derivatives share: second derivatives, and derivatives in lower precision."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.nodes import is_floating


def gradient_of(build):
    """Return a function whose derivative is the second derivative of ``build``: the gradient of a weighted sum."""

    def gradient(*inputs):
        y = T.sum(T.tanh(build(*inputs) * 0.7))
        moving = [each for each in inputs if is_floating(each)]
        found = pull_back({y: T.constant(1.0)}, moving)
        return [T.zeros_like(x) if g is None else g for g, x in zip(found, moving, strict=True)]

    return gradient


def check_in_lower_precision(build, points, dtype, tolerance):
    """Check that derivatives in a dtype have that dtype and are near those in float64, in both modes."""
    found = []
    for each in (dtype, "float64"):
        inputs = [T.tensor(each, (None,) * point.ndim) for point in points]
        y = build(*inputs)
        pulled = pull_back({y: T.ones_like(y)}, inputs)
        pushed = push_forward(dict(zip(inputs, inputs, strict=True)), [y])
        f = scanviz.function(inputs, [*pulled, *pushed])
        found.append(f(*(point.astype(dtype).astype(each) for point in points)))
        assert {g.dtype.name for g in found[-1]} == {each}
    for low, high in zip(*found, strict=True):
        np.testing.assert_allclose(low, high, rtol=tolerance, atol=10 * tolerance)
