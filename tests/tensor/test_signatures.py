"""Functions under NumPy's names have NumPy's parameters, in its order and kind, but for the differences that stand here."""

import inspect
from inspect import Parameter

import numpy as np
import pytest

from scanviz import tensor as T

# Parameters of NumPy that scanviz lacks: output arrays, memory order, skipped elements, kinds of arrays.
NEVER = {
    "out", "order", "casting", "subok", "signature", "like", "device", "where", "initial", "copy", "overwrite_input",
}  # fmt: skip
# What stands for the array itself; it is given first, by place.
ARRAY = {"a", "m", "v", "x", "arr", "ary", "array", "A", "arys", "value", "x1", "start_or_stop"}
# Name → why its parameters are not NumPy's.
DIFFERENT = {
    "argsort": "stable always",
    "sort": "stable always",
    "arange": "dtype may be given by place, as in old scripts",
    "broadcast_to": "sizes: the shape may be variables",
    "cholesky": "lower, as in SciPy and old scripts",
    "einsum": "NumPy takes dtype among keywords that it does not name",
    "eye": "n and m, as in old scripts",
    "full_like": "the shape is that of x",
    "isclose": "first and second",
    "matrix": "makes a symbolic matrix: NumPy's is a class of arrays",
    "ones_like": "the shape is that of x",
    "pad": "NumPy takes constant_values and reflect_type among keywords that it does not name",
    "percentile": "no weights",
    "pinv": "no hermitian: of symmetric matrices eigh is the quick way",
    "quantile": "no weights",
    "reshape": "sizes may be given one by one, as to the method",
    "size": "of all axes; x.shape[k] is that of one",
    "solve": "assume_a, as in SciPy",
    "split": "sizes of the parts, as in old scripts",
    "stack": "refuses arrays that are not in a list by a message of its own",
    "std": "no mean or correction",
    "svd": "no hermitian, as pinv",
    "take": "an index out of bounds is an error",
    "trace": "no dtype; axes in NumPy's order of the array function, which linalg.trace has not",
    "transpose": "axes may be given one by one, as to the method",
    "tri": "n and m, as eye",
    "var": "no mean or correction",
    "zeros_like": "the shape is that of x",
}  # fmt: skip
MODULES = [("", T, np), ("linalg.", T.linalg, np.linalg)]
NAMES = [
    (prefix + name, getattr(ours, name), getattr(theirs, name))
    for prefix, ours, theirs in MODULES
    for name in sorted(ours.__all__)
    if callable(getattr(theirs, name, None)) and not (prefix and hasattr(np, name))
]


def parameters(function):
    """Return the parameters that count: name, whether it is given by keyword alone, whether it may be left out."""
    found, keyword = [], False
    for k, parameter in enumerate(inspect.signature(function).parameters.values()):
        keyword = keyword or parameter.kind is Parameter.KEYWORD_ONLY or parameter.name == "out"
        if parameter.name in NEVER or (parameter.kind is Parameter.VAR_KEYWORD):
            continue
        name = "array" if k == 0 and parameter.name in ARRAY else parameter.name
        found.append((name, parameter.kind is Parameter.KEYWORD_ONLY, keyword))
    return found


def differs(ours, theirs):
    """Return how parameters differ; one that NumPy has after ``out`` may be given by keyword alone here."""
    if isinstance(theirs, np.ufunc):
        mine = [
            parameter
            for parameter in inspect.signature(ours).parameters.values()
            if parameter.default is Parameter.empty
        ]
        return None if len(mine) == theirs.nin else f"{len(mine)} arguments and not {theirs.nin}"
    mine, wanted = parameters(ours), parameters(theirs)
    if [each[0] for each in mine] != [each[0] for each in wanted]:
        return f"{[each[0] for each in mine]} and not {[each[0] for each in wanted]}"
    moved = [name for (name, alone, _), (_, _, may) in zip(mine, wanted, strict=True) if alone and not may]
    return f"{moved} by keyword alone" if moved else None


@pytest.mark.parametrize(("name", "ours", "theirs"), NAMES, ids=[each[0] for each in NAMES])
def test_a_function_has_numpys_parameters(name, ours, theirs):
    try:
        found = differs(ours, theirs)
    except ValueError as unknown:
        pytest.skip(f"NumPy {np.__version__} does not say: {unknown}")
    if name.rpartition(".")[2] in DIFFERENT:
        assert found is not None, f"{name} need not be among the differences"
    else:
        assert found is None, f"{name}: {found}"


def test_the_names_that_are_compared_are_most_of_all():
    assert len(NAMES) > 120 and {"einsum", "linspace", "linalg.inv"} <= {each[0] for each in NAMES}
