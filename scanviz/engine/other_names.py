"""Names of NumPy, Theano, PyTensor, JAX and PyTorch that are called otherwise here, or written with an operator.

A name that is not there is an ``AttributeError``, which names the replacement of one of these.  They are no aliases: one thing
has one name, and a script that is read again years later reads as NumPy does.

Rows are by module, or by the class whose objects have no such attribute.  A name that a variable does not have is looked up in the
rows of ``scanviz.tensor``, too, where ``a`` stands for the variable.
"""

from __future__ import annotations

import re

from scanviz.engine.errors import ScanvizAttributeError

_BROADCASTS = "x: an axis of size 1 broadcasts wherever it is found"
_CHECKED = "`scanviz check SCRIPT` finds the first NaN or infinity"
_GRADIENT = "scanviz.grad(cost, {0}): derivatives are asked for where they are wanted"
_BY_NUMPY = "an operation that calls NumPy or SciPy: docs/extending.md#a-function-of-numpy"
_LAX = "scanviz.scan and scanviz.ifelse; what else JAX has: docs/moving.md"
_NO_COMPLEX = "two real variables, the real and the imaginary part: there are no complex numbers"
_NO_CONVOLUTION = "sums of shifted slices, or a loop: there is no convolution and no pooling"
_NO_GRADIENTS = "nothing: only scanviz.grad takes derivatives; scanviz.disconnected_grad(x) stops them"
_NO_TREES = "lists and dicts of variables, one by one: there are no trees"
_ON_GPU = 'mode="cupy" in function: docs/gpu.md'
_OWN_OPERATION = "an operation of your own: docs/extending.md"
_PROGRAM = "scanviz.dprint(f) for its graph, f.program for what is run"
_SHARED = 'scanviz.shared(value, "w") for what stays between calls: w.get_value(), w.set_value(…)'
_STREAM = "T.random.RandomStreams(seed=1)"
_TENSOR = 'T.vector("x") for an input, scanviz.shared(value, "w") for a parameter'
_VALUE = "{0}.eval({{…}}), or a function that gives it: a variable has no value of its own"
_CASTS = {
    "bool": "bool",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
}
_KINDS = ("scalar", "vector", "row", "col", "matrix", "tensor3", "tensor4", "tensor5")


def _same(text: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), text)


OTHER_NAMES: dict[str, dict[str, str]] = {
    "scanviz": {
        **_same("scanviz.config", "configdefaults configparser"),
        **_same("scanviz.scan_checkpoints(step, xs, init)[0]", "checkpoint remat"),
        **_same("scanviz.clone(y, {x: z})", "clone_replace graph_replace map_variables"),
        **_same("scanviz.jacobian(y, x)", "jacfwd jacrev"),
        **_same("scanviz.named_subgraph(x, y, 'g', pullback=pullback)", "custom_jvp custom_vjp"),
        **_same(_LAX, "lax"),
        **_same(_TENSOR, "Tensor"),
        **_same(_NO_GRADIENTS, "no_grad"),
        **_same(_OWN_OPERATION, "Op Apply"),
        **_same(_ON_GPU, "gpuarray cuda"),
        **_same(_NO_TREES, "tree tree_map tree_util"),
        **_same("nothing: leave it out", "block_until_ready device_put"),
        **_same(_CHECKED, "DebugMode NanGuardMode"),
        "Param": "scanviz.In(x, value=1.0)",
        "OrderedUpdates": "a dict: {w: w - 0.1}",
        "printing": "scanviz.dprint(x) or scanviz.draw(x); T.Print for values",
        "pp": "scanviz.dprint(x)",
        "gradient": "names of scanviz itself: scanviz.grad, scanviz.grad_clip, scanviz.disconnected_grad",
        "scan_module": "scanviz.scan and scanviz.until",
        "grad_scale": "scanviz.disconnected_grad(x - 2.0 * x) + 2.0 * x",
        "jit": "scanviz.function([x], y)",
        "value_and_grad": "scanviz.function([x], [y, scanviz.grad(y, x)])",
        "compile": "scanviz.function and scanviz.Mode; for as_op docs/extending.md#a-function-of-numpy",
        "sandbox": 'T.random.RandomStreams(seed=1) for streams; mode="cupy" in function for a GPU',
        "gof": "scanviz.Variable and scanviz.dprint; an operation of your own: docs/extending.md",
        "graph": "scanviz.Variable, scanviz.clone and scanviz.dprint; an operation of your own: docs/extending.md",
        "OpFromGraph": "scanviz.named_subgraph(…), with a pullback of your own or without",
        "sparse": "dense arrays, or scipy.sparse before the loop: there are no sparse variables",
        "d3viz": "scanviz.draw(y), and scanviz html of a profile",
        "pprint": "scanviz.dprint(x)",
        "compat": "Python's own: range, zip, str",
        "misc": "nothing of Theano's own tools is there",
        "subgraph_grad": "scanviz.grad(None, x, known_grads={y: g})",
        "MonitorMode": "T.Print in the step, or `scanviz check SCRIPT`",
        "ProfileMode": "scanviz.function(…, profile=True), or `scanviz profile SCRIPT`",
        "T": "from scanviz import tensor as T",
        "as_op": _BY_NUMPY,
        "associative_scan": "scanviz.scan(lambda x_t, so_far: fn(so_far, x_t), xs, neutral)[0]",
        "autograd": "scanviz.grad(cost, [x])",
        "cond": "scanviz.ifelse(condition, y, z) of variables: only the side that is taken is computed",
        "debug": "T.Print and T.Assert",
        "debugprint": "scanviz.dprint(y)",
        "dynamic_slice": "xs[i:i + 3]",
        "dynamic_update_slice": "T.set_subtensor(xs[i:i + 3], y)",
        "fori_loop": "scanviz.scan(lambda i, state: body(i, state), T.arange(lower, upper), init)[0][-1]",
        "get_scalar_constant_value": "T.constant(2.0).value",
        "linearize": "scanviz.jvp(y, x, z)",
        "make_jaxpr": "scanviz.dprint(y)",
        "nn": "names of T.nnet: T.nnet.relu(x)",
        "numpy": "from scanviz import tensor as T, which has NumPy's names",
        "pydotprint": "scanviz.draw(y)",
        "raise_op": "T.Assert('message')(x, T.gt(x, 0))",
        "random": _STREAM,
        "select": "T.where(x > 0, y, z)",
        "stop_gradient": "scanviz.disconnected_grad(x)",
        "switch": "scanviz.ifelse(T.eq(index, 0), y, z), one inside another; T.switch for each element of its own",
        "version": "scanviz.__version__",
        "typed_list": "T.stack([x, y])",
        "updates": "a dict: {w: w - 0.1}",
        "vectorize": "scanviz.vmap(lambda x_i: x_i**2)(batch)",
        "vectorize_graph": "scanviz.vmap(lambda x_i: scanviz.clone(y, {x: x_i}))(batch)",
        "verify_grad": "from scanviz.testing import verify_grad",
        "while_loop": "T.ifelse(cond(init), "
        "scanviz.scan(lambda s: (body(s), scanviz.until(~cond(body(s)))), outputs_info=init, n_steps=1000)[0][-1], init)",
    },
    "scanviz.tensor": {
        **_same("T.sum(a[1:] + a[:-1], axis=0) / 2", "trapz trapezoid"),
        **_same(
            _BY_NUMPY,
            "apply_along_axis betainc chi2sf corrcoef erfcx fft histogram interp iv ive j0 j1 piecewise unwrap",
        ),
        **_same(_STREAM, "shared_randomstreams raw_random manual_seed"),
        **_same(_BROADCASTS, "Rebroadcast add_broadcast addbroadcast patternbroadcast unbroadcast"),
        **{prefix + kind: _NO_COMPLEX for prefix in "cz" for kind in _KINDS},
        **_same(_NO_COMPLEX, "angle complex complex_from_polar imag iscomplex"),
        **_same(_NO_CONVOLUTION, "conv convolve correlate"),
        **_same(_OWN_OPERATION, "Apply CAReduce DimShuffle Elemwise Op Subtensor"),
        **_same(
            "names of T itself: T.arange(3)",
            "basic blas elemwise extra_ops inplace math opt sharedvar special subtensor type utils variable",
        ),
        **{
            n: f"scanviz.{n}"
            for n in ("Constant", "SharedVariable", "Variable", "config", "function", "scan", "shared")
        },
        **{name: f"numpy.{name}" for name in ("e", "finfo", "iinfo", "inf", "nan", "pi")},
        **{name: f"'{name}', as in dtype='{name}'" for name in ("float32", "float64", "int32", "int64")},
        "TensorConstant": "scanviz.Constant",
        "TensorSharedVariable": "scanviz.SharedVariable",
        "argtopk": "T.argsort(a)[..., -3:]",
        "array_equal": "T.all(T.eq(a, b))",
        "bmm": "T.matmul(p, q)",
        "broadcast_arrays": "a and b, which broadcast",
        "broadcast_like": "T.broadcast_to(a, b.shape)",
        "c_": "T.stack([x, y], axis=-1)",
        "cat": "T.concatenate([a, b], axis=0)",
        "clamp": "T.clip(a, 0, 1)",
        "clone": "scanviz.clone(a, {b: c})",
        "cond": "scanviz.ifelse(condition, a, b)",
        "conj": "a: there are no complex numbers",
        "copy": "a.copy()",
        "cross_entropy": "T.nnet.softmax_crossentropy(a, k)",
        "digitize": "T.searchsorted(edges, a, side='right')",
        "div": "a / b",
        "dropout": "a * rng.bernoulli(0.5, size=a.shape) / 0.5",
        "ediff1d": "T.diff(a)",
        "expand": "T.broadcast_to(a, b.shape)",
        "from_numpy": "T.as_tensor(a)",
        "gather": "T.take_along_axis(a, index, axis=1)",
        "gelu": "a * (1 + T.erf(a / 2**0.5)) / 2",
        "geomspace": "T.exp(T.linspace(0.0, T.log(100.0), 5))",
        "heaviside": 'T.where(T.eq(a, 0), b, T.cast(T.gt(a, 0), "float64"))',
        "index_select": "T.take(a, index, axis=1)",
        "log1pexp": "T.softplus(a)",
        "logsigmoid": "-T.softplus(-a)",
        "logspace": "10.0 ** T.linspace(0.0, 2.0, 5)",
        "masked_fill": "T.where(mask, v, a)",
        "mgrid": "k[:, None] and n, which broadcast",
        "mm": "T.dot(a, b)",
        "mse_loss": "T.mean((a - b) ** 2)",
        "nanmax": "T.max(T.where(T.isnan(a), -numpy.inf, a))",
        "nanmin": "T.min(T.where(T.isnan(a), numpy.inf, a))",
        "ndarray": "T.TensorVariable",
        "ndim": "a.ndim",
        "newaxis": "None, as in x[None]",
        "ogrid": "k[:, None] and n, which broadcast",
        "nelement": "T.size(a)",
        "numel": "T.size(a)",
        "one_hot": "T.nnet.one_hot(k, 7)",
        "permute": "T.transpose(a, (1, 0))",
        "r_": "T.concatenate([a, b], axis=0)",
        "rand": _STREAM + ".uniform(size=(2, 3))",
        "randint": _STREAM + ".integers(0, 4, size=(2,))",
        "randn": _STREAM + ".normal(size=(2, 3))",
        "randperm": _STREAM + ".permutation(5)",
        "rot90": "a.T[::-1]",
        "scatter": "T.set_subtensor(a[index], v)",
        "scatter_add": "T.inc_subtensor(a[index], v)",
        "select": "T.where(mask, a, b), one inside another",
        "silu": "a * T.sigmoid(a)",
        "t": "a.T",
        "tensor6": 'T.tensor("x", shape=(None,) * 6)',
        "tensor7": 'T.tensor("x", shape=(None,) * 7)',
        "tensor_copy": "a.copy()",
        "tri_gamma": "T.polygamma(1, a)",
        "unsqueeze": "T.expand_dims(a, 0)",
        "vectorize": "scanviz.vmap(lambda x_i: x_i**2)(a)",
        "view": "T.reshape(a, (-1,)), the sizes as one tuple",
        "_shared": 'scanviz.shared(1.0, "w")',
        "acos": "T.arccos(a)",
        "acosh": "T.arccosh(a)",
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
        "slinalg": "T.linalg.cholesky(a) and T.linalg.solve(a, b)",
        "stacklists": "T.stack([T.stack([v, v]), T.stack([v, v])])",
        "stop_gradient": "scanviz.disconnected_grad(a)",
        "sub": "a - b",
        "signal": _NO_CONVOLUTION,
        "to_one_hot": 'T.cast(T.eq(k[:, None], T.arange(7)), "float64")',
        "topk": "T.sort(a)[..., -3:]",
        "true_div": "a / b",
        "unique": "numpy.unique of values: how many there are is known from them alone",
        "vecdot": "T.sum(a * b, axis=-1)",
        "vertical_stack": "T.concatenate([a, b], axis=0)",
        "xor": "k ^ n",
    },
    "scanviz.tensor.nnet": {
        **_same(_NO_CONVOLUTION, "max_pool"),
        **_same("T.nnet.softmax(a)", "softmax_graph softmax_op"),
        **_same("T.nnet.log_softmax(a)", "logsoftmax"),
        **_same("names of T.nnet itself", "nnet sigm"),
        "swish": "a * T.nnet.sigmoid(a)",
        "log_sigmoid": "-T.nnet.softplus(-a)",
        **_same("(a - T.mean(a, 0)) / T.sqrt(T.var(a, 0) + 1e-4)", "batch_normalization bn"),
        **_same(_NO_CONVOLUTION, "abstract_conv conv conv2d conv3d images2neibs neighbours"),
        "crossentropy_categorical_1hot": "T.nnet.categorical_crossentropy(a, k)",
        "crossentropy_softmax_argmax_1hot_with_bias": "T.nnet.softmax_crossentropy(a + b, k)",
        "crossentropy_softmax_1hot": "T.nnet.categorical_crossentropy(T.nnet.softmax(a), k), where k are classes",
        "leaky_relu": "T.nnet.relu(a, 0.01)",
        "selu": "1.0507009873554805 * T.nnet.elu(a, 1.6732632423543772)",
        "softmax_with_bias": "T.nnet.softmax(a + b)",
        "tanh": "T.tanh(a)",
        "ultra_fast_sigmoid": "T.nnet.hard_sigmoid(a)",
    },
    "scanviz.tensor.random.RandomStreams": {
        "cauchy": "T.tan(numpy.pi * (rng.uniform() - 0.5))",
        "chisquare": "2 * rng.gamma(v / 2)",
        "geometric": "T.ceil(T.log(rng.uniform()) / T.log(0.5))",
        "rand": "rng.uniform(size=(2, 3))",
        "randint": "rng.integers(0, 4, size=(2,))",
        "randn": "rng.normal(size=(2, 3))",
        "random_integers": "rng.integers(0, 4, size=(2,))",
        "shuffle": "rng.permutation(a)",
        "shuffle_row_elements": "rng.permutation(a)",
        "standard_t": "rng.normal() / T.sqrt(rng.gamma(v / 2) / (v / 2))",
        "updates": "rng.state_updates; function updates the streams of its own accord",
    },
    "scanviz.tensor.random": {
        **_same(_STREAM, "RandomStream MRG_RandomStreams rng_mrg shared_randomstreams utils"),
        **_same(_STREAM + ": each draw has a state of its own", "Generator RandomState fold_in key split"),
        "PRNGKey": "T.random.random_state(1)",
        "default_rng": _STREAM,
    },
    "scanviz.tensor.linalg": {
        **_same("T.linalg.inv(a)", "MatrixInverse matrix_inverse"),
        **_same("T.linalg.solve(a, b), which factorises", "lu lu_factor"),
        **_same("T.dot(T.dot(a, b), a)", "matrix_dot multi_dot"),
        "cho_solve": "T.linalg.solve(a, b, assume_a='pos') of the matrix itself",
        "diag": "T.diag(a)",
        "eigvals": "T.linalg.eigvalsh(a) of symmetric matrices: there are no complex numbers",
        "eig": "T.linalg.eigh(a) of symmetric matrices: there are no complex numbers",
        "solve_lower_triangular": "T.linalg.solve_triangular(a, b, lower=True)",
        "solve_upper_triangular": "T.linalg.solve_triangular(a, b)",
    },
    "Function": {
        **_same(_PROGRAM, "compile fn lower maker vm"),
        **_same(_SHARED, "container finder input_storage output_storage value"),
        "copy": "scanviz.function(f.inputs, f.outputs, givens={w: v}) for swap={w: v}, updates=… as it shall have them",
        "trust_input": "nothing: leave it out",
    },
    "Variable": {
        **{name: f"T.cast({{0}}, '{dtype}')" for name, dtype in _CASTS.items()},
        **_same("nothing: leave it out", "block_until_ready contiguous cpu requires_grad_"),
        **_same(_ON_GPU, "cuda device to transfer"),
        **_same(_VALUE, "data get_test_value get_value item numpy tolist"),
        **_same(_GRADIENT, "backward grad requires_grad"),
        "norm": "T.linalg.norm({0})",
        "set_value": "scanviz.shared(value): only shared variables keep one",
        "sqr": "T.sqr({0})",
        "tag": "nothing: {0}.eval({{…}}) computes any variable, and `scanviz check SCRIPT` looks at a real run",
        "value": "{0}.get_value() of a shared variable, {0}.eval({{…}}) of any",
        "zero": "{0}.set_value({0}.get_value() * 0)",
    },
}


def missing(module: str, name: str, instead: str | None = None) -> AttributeError:
    """Return the error of a name that a module, or an object of a class, does not have; ``instead`` is for one without a row.

    Examples
    --------
    >>> missing("scanviz.tensor", "fill").fix
    'T.full_like(a, v)'
    """
    last = module.rpartition(".")[2]
    owner = f"{last!r} object" if last[:1].isupper() else f"module {module!r}"
    what = f"{owner} has no attribute {name!r}"
    instead = _row(module, name) or instead
    if instead is None:
        return AttributeError(what)  # python adds names that look alike
    error = ScanvizAttributeError.here(what, fix=instead, shown=True)
    error.name = name
    return error


def _row(module: str, name: str) -> str | None:
    """Return the advice for a name that a module lacks: its own row, or that of a module around it."""
    while module:
        if name in OTHER_NAMES.get(module, ()):
            return OTHER_NAMES[module][name]
        module = module.rpartition(".")[0]
    return None


def of_variable(name: str, variable: str) -> str | None:
    """Return what to write for an attribute that variables do not have, of a variable that is called so; None if there is no row.

    Examples
    --------
    >>> of_variable("detach", "h")
    'scanviz.disconnected_grad(h)'
    """
    own = OTHER_NAMES["Variable"].get(name)
    if own is not None:
        return own.format(variable)
    function = OTHER_NAMES["scanviz.tensor"].get(name)
    return None if function is None else re.sub(r"\ba\b", variable, function)
