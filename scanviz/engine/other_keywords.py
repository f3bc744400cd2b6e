"""Answers for keywords and imports of Theano, PyTensor, JAX and PyTorch that have other names here, or are not needed.

Python itself refuses a keyword that a function does not have, with an ordinary ``TypeError``, and a call pays nothing for that.
It turns the ``AttributeError`` of ``from scanviz import name`` into an ``ImportError`` of its own, without our words.
Where such an error ends a program, the words are added to what is printed (``scanviz.engine.tracebacks``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import FunctionType, MethodType, ModuleType

from scanviz.engine.errors import ScanvizAttributeError
from scanviz.engine.other_names import OTHER_NAMES

_REFUSED = re.compile(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
_NOT_IMPORTED = re.compile(r"cannot import name '(\w+)'")
_MISSING = re.compile(r"(grad|jacobian|hessian)\(\) missing 1 required positional argument: '(wrt)'")
_GIVEN_TWICE = re.compile(r"(?:\w+\.)*?(\w+)\(\) got multiple values for argument '(\w+)'")
_SIZE_FIRST = ("binomial", "multinomial", "normal", "uniform")  # draws whose size stands first in Theano
_BROADCASTS = "nothing: an axis of size 1 broadcasts wherever it is found"
_PLAIN = "nothing: leave it out"
_OF_THEANO = (
    "import scanviz, and from scanviz import tensor as T: docs/moving.md has what a Theano script changes"
)
_OF_JAX = (
    "scanviz.scan(step, sequences=xs, outputs_info=init) in place of lax.scan(step, init, xs): "
    "docs/moving.md has what a JAX script changes"
)
# Libraries that are missing → what to write in place of them.
_LIBRARIES = {
    **dict.fromkeys(("theano", "aesara", "pytensor"), _OF_THEANO),
    **dict.fromkeys(("jax", "jaxlib"), _OF_JAX),
}
_ON_GPU = 'mode="cupy" in function for a GPU'
_OF_GRAPHS = "scanviz.{0}(f(x), x): of a variable with respect to variables, not of a function of Python"
_JAX_SCAN = (
    "(carries, ys), _ = scan(lambda x, carry: f(carry, x), sequences=xs, outputs_info=[init, None]), then carries[-1]; "
    "docs/moving.md"
)
# Keyword → what to write, of one function or, under "", of any.
_WORDS: dict[str, dict[str, str]] = {
    "": {
        "broadcastable": _BROADCASTS,
        "acc_dtype": "dtype=…: sums are computed in the dtype of the result",
        "allow_downcast": _PLAIN,
        "ndim": "nothing: the number of dimensions is that of the shape",
        "nstreams": _PLAIN,
        "inplace": "nothing: scanviz writes in place where nobody else reads the array",
        "tolerate_inplace_aliasing": "nothing: scanviz writes in place where nobody else reads the array",
        "return_internal_type": _PLAIN,
        "target": _ON_GPU,
        "device": _ON_GPU,
        "dim": "axis=…",
        "keepdim": "keepdims=…",
        "precision": _PLAIN,
        "rng": "T.random.RandomStreams(seed=1).normal(…), or its state first: T.random.normal(state, …)",
        "requires_grad": "nothing: scanviz.grad(cost, x) names what derivatives are with respect to",
    },
    "RandomStreams": {"use_cuda": _ON_GPU},
    "normal": {"avg": "loc=…"},
    "permutation": {"n": "permutation(5)", "size": "one call for each permutation"},
    "scan": {
        "states": "outputs_info=…",
        "params": "non_sequences=…",
        "options": _PLAIN,
        "info": _PLAIN,
        "f": _JAX_SCAN,
        "init": _JAX_SCAN,
        "xs": _JAX_SCAN,
        "length": "n_steps=…",
        "reverse": "go_backwards=True, and rows[::-1] for JAX's order of the rows",
        "unroll": _PLAIN,
    },
    "function": {
        "rebuild_strict": _PLAIN,
        "trust_input": _PLAIN,
        "accept_inplace": _PLAIN,
        "backend": "mode=…",
        "donate_argnums": _PLAIN,
        "static_argnums": "nothing: leave it out; Python values are constants of the graph",
    },
    "shared": {
        "dtype": "scanviz.shared(numpy.asarray(value, dtype=…))",
        "shape": "nothing: leave it out; strict=True keeps the sizes of the value",
    },
    "clone": {"strict": _PLAIN, "share_inputs": _PLAIN, "copy_inputs": _PLAIN},
    "In": {
        "mutable": _PLAIN,
        "borrow": _PLAIN,
        "strict": _PLAIN,
        "implicit": _PLAIN,
        "update": "x = scanviz.shared(value), and function(…, updates={x: …}) with what was the update",
    },
    "grad": {
        "add_names": _PLAIN,
        "g_cost": "known_grads={cost: …}",
        "argnums": _OF_GRAPHS.format("grad"),
        "has_aux": "scanviz.function([x], [cost, aux, scanviz.grad(cost, x)])",
        "wrt": _OF_GRAPHS.format("grad"),
    },
    "dprint": {"depth": _PLAIN, "print_shape": "print_type=True"},
    "jacobian": {"vectorize": _PLAIN, "wrt": _OF_GRAPHS.format("jacobian")},
    "hessian": {"wrt": _OF_GRAPHS.format("hessian")},
    "ifelse": {"name": _PLAIN},
    "flatten": {"outdim": "ndim=…"},
    "reshape": {"newshape": "T.reshape(x, (2, -1))"},
    "concatenate": {"tensor_list": "T.concatenate([a, b], axis=0)"},
    "alloc": {"shape": "T.full((2, 3), value), or T.alloc(value, 2, 3)"},
    "inc_subtensor": {"set_instead_of_inc": "T.set_subtensor(x[…], y)"},
    "where": {
        "cond": "T.switch(condition, a, b), without names",
        "ift": "T.switch(condition, a, b), without names",
    },
    "prod": {"no_zeros_in_input": _PLAIN},
    "var": {"corrected": "ddof=1"},
    "mean": {"op": _PLAIN},
    "sort": {"kind": _PLAIN, "order": _PLAIN},
    "round": {"mode": "nothing: halves go to the even neighbour, as in NumPy"},
    "nonzero": {"return_matrix": "T.stack(T.nonzero(x)) for a matrix"},
    "Print": {"attrs": "T.Print(message, attributes=[…])"},
}


def keyword_answer(error: BaseException, names: Mapping[str, object]) -> str | None:
    """Advise about a refused keyword of another system, a size in first place, or a call of a variable.

    Parameters
    ----------
    error : exception
        The error that ends a program.
    names : mapping
        Of the frame that made the call: only functions of scanviz that can be reached from there are meant.

    Examples
    --------
    >>> import scanviz
    >>> refused = TypeError("function() got an unexpected keyword argument 'accept_inplace'")
    >>> keyword_answer(refused, {"theano": scanviz}), keyword_answer(refused, {})
    ('nothing: leave it out', None)
    >>> own = type("function", (), {"__module__": "__main__"})
    >>> print(keyword_answer(refused, {"theano": scanviz, "function": own}))
    None
    """
    # from Python 3.13 on it may say more behind the name: did you mean another one
    if type(error) is not TypeError:
        return None
    if str(error) == "'Variable' object is not callable":
        return "x.shape[0], x.size, x.ndim: attributes without parentheses; x[0] for an element"
    twice = _GIVEN_TWICE.match(str(error))
    found = twice or _REFUSED.match(str(error)) or _MISSING.match(str(error))
    if found is None:
        return None
    function, keyword = found.groups()
    answer = _WORDS.get(function, {}).get(keyword) or _WORDS[""].get(keyword)
    if twice:
        answer = "size=(2, 3), by name" if function in _SIZE_FIRST else None
    if answer is None or any(_is_another(value, function) for value in names.values()):
        return None
    return answer if any(_has(value, function) for value in names.values()) else None


def import_answer(error: BaseException) -> str | None:
    """Advise about an import that failed for a name of scanviz or another system's library; None for other errors.

    Examples
    --------
    >>> try:
    ...     from scanviz import while_loop
    ... except ImportError as error:
    ...     answer = import_answer(error)
    >>> "scanviz.until(~cond(body(s)))" in answer
    True
    """
    if not isinstance(error, ImportError) or error.name is None:
        return None
    library = error.name.partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and library in _LIBRARIES:
        return _LIBRARIES[library]
    found = _NOT_IMPORTED.match(str(error))
    module, name = (
        (error.name, found[1]) if found else (error.name.rpartition(".")[0], error.name.rpartition(".")[2])
    )
    if module not in OTHER_NAMES or module not in sys.modules:
        return None
    try:
        getattr(sys.modules[module], name)
    except ScanvizAttributeError as missing:
        return missing.fix
    except AttributeError:
        return None
    return f"from {module} import …: {module}.{name} is no module"  # as it is in Theano


def _is_another(value: object, function: str) -> bool:
    """Return whether something is a function or class of this name, and none of scanviz's: then that one may be meant."""
    return (
        isinstance(value, FunctionType | type)
        and value.__name__ == function
        and value.__module__.partition(".")[0] != "scanviz"
    )


def _has(value: object, function: str) -> bool:
    """Return whether something of scanviz is a function, or a module or an object that has one of this name."""
    own = getattr(value, "__name__", None)
    module = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
    if isinstance(value, FunctionType | MethodType | type):
        module = value.__module__
    return str(module).partition(".")[0] == "scanviz" and (own == function or hasattr(value, function))
