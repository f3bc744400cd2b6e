"""Mistakes of users of NumPy, Theano, JAX or PyTorch: the message names their line and a fix."""

import numpy as np
import pytest

import scanviz
from scanviz import ScanvizError
from scanviz import tensor as T
from scanviz.engine.errors import ShapeError

x, w, n, M = T.vector("x"), T.scalar("w"), T.iscalar("n"), T.matrix("M")
W = scanviz.shared(np.eye(3), name="W")
y = x * w


def assigned():
    W[0] = w


def in_step(step):
    return lambda: scanviz.scan(step, x)


MISTAKES = {
    "rows of a matrix": (lambda: list(M), "scan(fn, sequences=M), or M[0], M[1]"),
    "elements of a number": (lambda: list(w), "`w` cannot be iterated over: it is one number"),
    "a shared variable set in a step": (in_step(W.set_value), "or return {W: …} in the step of a loop"),
    "a shared variable assigned to": (assigned, "function(…, updates={W: …}) to keep it in W"),
    "a condition in a step": (
        in_step(lambda v: max(v, 0)),
        "T.maximum(a, b), T.minimum(a, b) instead of `max",
    ),
    "a condition without a name": (in_step(lambda v: v if v > 0 else -v), "T.switch(condition, a, b)"),
    "inputs without a list": (lambda: scanviz.function(x, w, y), "several inputs are a list"),
    "inputs by name": (lambda: scanviz.function(["x"], x), "the variable itself, not its name"),
    "the step behind the sequences": (lambda: scanviz.scan(x, lambda v: v), "the step first, then sequences"),
    "more parts than dimensions": (lambda: x[0, 0], "at most 1: it has 1 dimension"),
    "two ellipses": (lambda: M[..., ...], "expected: at most one"),
    "rows as a number of steps": (lambda: scanviz.scan(lambda: w, n_steps=x), "n_steps=x.shape[0]"),
    "a float number of steps": (lambda: scanviz.scan(lambda: w, n_steps=10 / 2), "n_steps=int(5.0)"),
    "a value by name": (lambda: x.eval({"x": [1.0]}), "eval({x: …}), with the variable itself as the key"),
    "the same expression again": (lambda: scanviz.grad((x * 2).sum(), x * 2), "y = …, and use y in both"),
    "the gradient of a function": (lambda: scanviz.grad(lambda v: v, x), "grad(f(x), x)"),
    "a gradient by value": (lambda: scanviz.grad(x.sum(), W.get_value()), "the variable itself"),
    "arrays without a list": (lambda: T.concatenate(x, x), "concatenate: what to join cannot be used"),
    "a vector and a number": (lambda: T.concatenate([x, w]), "x[None] for one that has a dimension less"),
    "an axis that is not there": (lambda: x.sum(axis=1), "an axis from -1 to 0"),
    "lists of other lengths": (lambda: scanviz.shared([[1], [2, 3]]), "lists of equal lengths"),
    "a fraction in a counter": (
        lambda: scanviz.shared(0).set_value(0.5),
        "shared(np.asarray(first, 'float64'))",
    ),
    "a call on a variable": (lambda: scanviz.function([x], x)(x), "f(array), or function(…, givens={x: …})"),
    "a call without an argument": (lambda: scanviz.function([x, w], y)([1.0]), "needs a value for input `w`"),
    "a call with one too many": (lambda: scanviz.function([x], x)([1.0], 2), "takes 1 input, 2 were given"),
    "a call by another name": (lambda: scanviz.function([x], x)(z=1), "has no input named `z`"),
    "a call with more dimensions": (
        lambda: scanviz.function([x], x)(np.eye(2)),
        "the wrong number of dimensions",
    ),
    "first values as sequences": (
        lambda: scanviz.scan(lambda s, v: (s + v, s), 0.0, x),
        "outputs_info=[…] for the first value of a state, which JAX's scan has in this place",
    ),
    "functions as branches": (lambda: scanviz.ifelse(w > 0, lambda: x, lambda: -x), "call it"),
    "a Jacobian of a function": (lambda: scanviz.jacobian(lambda v: v, x), "jacobian(f(x), x)"),
    "sizes one by one": (lambda: T.zeros(3, 2), "sizes as one tuple, T.zeros((rows, columns))"),
    "a range over rows": (lambda: range(x.shape[0]), "scan(fn, n_steps=x.shape[0])"),
    "taps without their minus signs": (
        lambda: scanviz.scan(lambda a, b: a + b, outputs_info=dict(initial=x, taps=[3, 1]), n_steps=2),
        "taps=[-3, -1], with minus signs",
    ),
    "a key that is nearly one": (
        lambda: scanviz.scan(lambda a: a, outputs_info=dict(init=w), n_steps=2),
        "dict(initial=…) in place of init",
    ),
    "a sequence less": (lambda: scanviz.map(lambda a, b: a * b, x), "if `b` is a row of one more sequence"),
    "the gradient of a list": (lambda: scanviz.grad([x.sum(), w], x), "grad(a + b, …)"),
    "two variables of one name": (
        lambda: scanviz.function([T.scalar("w"), x], y),
        "the input of that name is another variable",
    ),
    "an update without its braces": (in_step(lambda v: (v, (W, W + v))), "{W: new value} for an update"),
    "a dtype that is none": (lambda: T.vector("x", dtype="complex64"), "two real variables"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_names_the_line_and_a_fix(name):
    mistake, message = MISTAKES[name]
    with pytest.raises(ScanvizError) as caught:
        mistake()
    text = str(caught.value)
    assert "test_first_mistakes.py:" in text.splitlines()[0] and message in text, text


SQUARE = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "expm")


@pytest.mark.parametrize("mode", ["reference", "numpy", "native"])
@pytest.mark.parametrize("name", [*SQUARE, "solve"])
def test_a_matrix_that_is_not_square_is_reported_as_such(name, mode):
    function = getattr(T.linalg, name)
    f = scanviz.function(
        [M, x], function(M, x) if name == "solve" else function(M), mode=mode, on_unused_input="ignore"
    )
    with pytest.raises(ShapeError, match="the matrix must be square"):
        f(np.ones((2, 3)), np.ones(2))
