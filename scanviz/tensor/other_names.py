"""Names of NumPy, Theano, PyTensor, JAX and PyTorch that are called otherwise here, or written with an operator.

A name that is not there is an ordinary ``AttributeError``, which says what to write where it is one of these.  They are no
aliases: one thing has one name, and a script that is read again years later reads as NumPy does.
"""

from __future__ import annotations

OTHER_NAMES: dict[str, dict[str, str]] = {
    "scanviz": {
        "Param": "scanviz.In(x, value=1.0)",
        "OrderedUpdates": "a dict: {w: w - 0.1}",
        "printing": "scanviz.dprint(x) or scanviz.draw(x); T.Print for values",
        "pp": "scanviz.dprint(x)",
        "gradient": "scanviz.grad, and scanviz.disconnected_grad beside it",
        "scan_module": "scanviz.scan and scanviz.until",
        "jit": "scanviz.function([x], y)",
        "value_and_grad": "scanviz.function([x], [y, scanviz.grad(y, x)])",
        "compile": "scanviz.function and scanviz.Mode",
        "sandbox": 'T.random.RandomStreams(seed=1) for streams; mode="cupy" in function for a GPU',
        "gof": "scanviz.Variable and scanviz.dprint; an operation of your own: docs/extending.md",
        "graph": "scanviz.Variable and scanviz.dprint; an operation of your own: docs/extending.md",
        "Op": "an operation of your own: docs/extending.md",
        "Apply": "an operation of your own: docs/extending.md",
        "OpFromGraph": "scanviz.named_subgraph(…), with a pullback of your own or without",
        "sparse": "dense arrays, or scipy.sparse before the loop: there are no sparse variables",
        "gpuarray": 'mode="cupy" in function: docs/gpu.md',
        "cuda": 'mode="cupy" in function: docs/gpu.md',
        "d3viz": "scanviz.draw(y), and scanviz html of a profile",
        "pprint": "scanviz.dprint(x)",
        "compat": "Python's own: range, zip, str",
        "misc": "nothing of Theano's own tools is there",
        "subgraph_grad": "scanviz.grad(None, x, known_grads={y: g})",
    },
    "scanviz.tensor": {
        "_shared": 'scanviz.shared(1.0, "w")',
        "acos": "T.arccos(a)",
        "acosh": "T.arccosh(a)",
        "add_broadcast": "x: an axis of size 1 broadcasts wherever it is found",
        "addbroadcast": "x: an axis of size 1 broadcasts wherever it is found",
        "allclose": "T.all(T.isclose(a, b))",
        "amax": "T.max(a)",
        "amin": "T.min(a)",
        "and_": "k & n",
        "argwhere": "T.stack(T.nonzero(a), axis=1)",
        "around": "T.round(a)",
        "array": "T.as_tensor(a)",
        "asarray": "T.as_tensor(a)",
        "asin": "T.arcsin(a)",
        "asinh": "T.arcsinh(a)",
        "astype": "T.cast(a, 'float32')",
        "atan": "T.arctan(a)",
        "atan2": "T.arctan2(a, b)",
        "atanh": "T.arctanh(a)",
        "average": "T.sum(a * b) / T.sum(b)",
        "Rebroadcast": "x: an axis of size 1 broadcasts wherever it is found",
        "basic": "names of T itself: T.arange(3)",
        "batched_tensordot": 'T.einsum("bij,bjk->bik", p, q)',
        "bitwise_invert": "~k",
        "bitwise_left_shift": "k << n",
        "bitwise_not": "~k",
        "bitwise_right_shift": "k >> n",
        "ceil_intdiv": "-(-k // n)",
        "compress": "a[mask]",
        "concat": "T.concatenate([a, b])",
        "count_nonzero": "T.sum(T.neq(a, 0))",
        "cov": "T.dot((a - T.mean(a, 0)).T, a - T.mean(a, 0)) / (a.shape[0] - 1)",
        "cumulative_prod": "T.cumprod(a, axis=0)",
        "cumulative_sum": "T.cumsum(a, axis=0)",
        "degrees": "T.rad2deg(a)",
        "detach": "scanviz.disconnected_grad(a)",
        "empty": "T.zeros((2, 3))",
        "empty_like": "T.zeros_like(a)",
        "erfcinv": "T.erfinv(1 - a)",
        "extra_ops": "names of T itself: T.cumsum(a)",
        "extract_diag": "T.diagonal(a)",
        "fabs": "abs(a)",
        "fill": "T.full_like(a, v)",
        "fill_diagonal": "T.set_subtensor(a[T.arange(a.shape[0]), T.arange(a.shape[0])], v)",
        "fliplr": "a[:, ::-1]",
        "flipud": "a[::-1]",
        "float_power": "a ** b",
        "floor_div": "a // b",
        "gamma": "T.exp(T.gammaln(a)), where a is positive",
        "horizontal_stack": "T.concatenate([a, b], axis=1)",
        "identity_like": "T.eye(a.shape[0])",
        "int_div": "a // b",
        "iround": 'T.cast(T.round(a), "int64")',
        "isin": "T.any(T.eq(a[..., None], T.as_tensor([2.0, 0.5])), axis=-1)",
        "join": "T.concatenate([a, b], axis=0)",
        "log1mexp": "T.log1p(-T.exp(a))",
        "max_and_argmax": "T.max(a, 1) and T.argmax(a, 1)",
        "meshgrid": "k[:, None] and n, which broadcast",
        "mul": "a * b",
        "nanmean": "T.sum(T.where(T.isnan(a), 0.0, a)) / T.sum(~T.isnan(a))",
        "nansum": "T.sum(T.where(T.isnan(a), 0.0, a))",
        "ne": "T.neq(a, b)",
        "neg": "-a",
        "nlinalg": "T.linalg.det(a) and T.linalg.inv(a); T.diag(a)",
        "nonzero_values": "a[T.nonzero(a)]",
        "or_": "k | n",
        "patternbroadcast": "x: an axis of size 1 broadcasts wherever it is found",
        "permute_dims": "T.transpose(a, (1, 0))",
        "pow": "a ** b",
        "psi": "T.digamma(a)",
        "ptp": "T.max(a) - T.min(a)",
        "radians": "T.deg2rad(a)",
        "real": "a: there are no complex numbers",
        "rint": "T.round(a)",
        "second": "T.full_like(a, v)",
        "sgn": "T.sign(a)",
        "shape_padaxis": "T.expand_dims(a, 1)",
        "shared_randomstreams": "T.random.RandomStreams(seed=1)",
        "slinalg": "T.linalg.cholesky(a) and T.linalg.solve(a, b)",
        "stacklists": "T.stack([T.stack([v, v]), T.stack([v, v])])",
        "stop_gradient": "scanviz.disconnected_grad(a)",
        "sub": "a - b",
        "raw_random": "T.random.RandomStreams(seed=1)",
        "signal": "sums of shifted slices, or a loop: there is no convolution and no pooling",
        "to_one_hot": 'T.cast(T.eq(k[:, None], T.arange(7)), "float64")',
        "topk": "T.sort(a)[..., -3:]",
        "true_div": "a / b",
        "unbroadcast": "x: an axis of size 1 broadcasts wherever it is found",
        "unique": "numpy.unique of a value: its size is known from values alone",
        "vecdot": "T.sum(a * b, axis=-1)",
        "vertical_stack": "T.concatenate([a, b], axis=0)",
        "xor": "k ^ n",
    },
    "scanviz.tensor.nnet": {
        "conv2d": "sums of shifted slices, or a loop: there is no convolution",
        "crossentropy_softmax_1hot": "T.nnet.categorical_crossentropy(T.nnet.softmax(a), k), where k are classes",
        "leaky_relu": "T.nnet.relu(a, 0.01)",
        "logsoftmax": "T.nnet.log_softmax(a)",
        "softmax_graph": "T.nnet.softmax(a)",
        "ultra_fast_sigmoid": "T.nnet.hard_sigmoid(a)",
    },
    "scanviz.tensor.random.RandomStreams": {
        "random_integers": "rng.integers(0, 4, size=(2,))",
        "shuffle_row_elements": "rng.permutation(a)",
        "updates": "rng.state_updates; function updates the streams of its own accord",
    },
    "scanviz.tensor.random": {
        "RandomStream": "T.random.RandomStreams(seed=1)",
        "MRG_RandomStreams": "T.random.RandomStreams(seed=1)",
        "PRNGKey": "T.random.random_state(1)",
        "default_rng": "T.random.RandomStreams(seed=1)",
    },
}


def missing(module: str, name: str) -> AttributeError:
    """Return the error of a name that a module does not have.

    Examples
    --------
    >>> print(missing("scanviz.tensor", "fill"))
    module 'scanviz.tensor' has no attribute 'fill'; write: T.full_like(a, v)
    """
    kind, _, last = module.rpartition(".")
    owner = f"{last!r} object" if kind in OTHER_NAMES and last[:1].isupper() else f"module {module!r}"
    what = f"{owner} has no attribute {name!r}"
    instead = OTHER_NAMES[module].get(name)
    if instead is None:
        return AttributeError(what)  # python adds names that look alike
    return AttributeError(f"{what}; write: {instead}", name=name, obj=None)


__all__ = ["OTHER_NAMES", "missing"]
