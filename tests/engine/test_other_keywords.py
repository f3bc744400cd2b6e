"""Keywords of other systems are errors with a replacement; other calls get no advice."""

import inspect

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.other_keywords import _WORDS, keyword_answer
from scanviz.engine.tracebacks import program_frames

STREAMS = T.random.RandomStreams(1)
ROWS = [
    (function, keyword)
    for function, words in _WORDS.items()
    for keyword in words
    if function and keyword != "wrt"  # which a function of Python is given without, as in JAX
]


def notes_of(error):
    with program_frames(error):
        shown = list(getattr(error, "__notes__", ()))
    assert not getattr(error, "__notes__", ())  # as it was, when it has been printed
    return shown


@pytest.mark.parametrize(("function", "keyword"), ROWS)
def test_only_keywords_that_the_function_lacks_are_answered(function, keyword):
    places = (STREAMS, scanviz, T, T.random)
    found = next(getattr(place, function) for place in places if hasattr(place, function))
    taken = inspect.signature(found).parameters
    assert keyword not in taken or taken[keyword].kind is inspect.Parameter.VAR_POSITIONAL
    words = f"{found.__name__}() got an unexpected keyword argument {keyword!r}"
    assert keyword_answer(TypeError(words), {"it": found}) == _WORDS[function][keyword]


def test_a_keyword_of_another_system_is_an_error_with_a_replacement():
    with pytest.raises(TypeError, match="'avg'") as caught:
        STREAMS.normal(size=(2, 3), avg=0.0)
    assert notes_of(caught.value) == ["  write:    loc=…"]
    with pytest.raises(TypeError, match="'states'") as caught:
        scanviz.scan(lambda x_t: x_t, T.vector("x"), states=[None])
    assert notes_of(caught.value) == ["  write:    outputs_info=…"]


def test_keywords_of_scan_in_jax_are_errors_with_the_equivalent_call():
    with pytest.raises(TypeError, match="'init'") as caught:
        scanviz.scan(lambda carry, x: (carry + x, x), init=0.0, xs=T.vector("x"))
    (note,) = notes_of(caught.value)
    assert "scan(lambda x, carry: f(carry, x), sequences=xs, outputs_info=[init, None])" in note
    with pytest.raises(TypeError, match="'reverse'") as caught:
        scanviz.scan(lambda x, carry: carry + x, T.vector("x"), 0.0, reverse=True)
    assert "go_backwards=True" in notes_of(caught.value)[0]


def test_the_argument_order_of_jax_is_recognized_by_a_number_for_sequences():
    with pytest.raises(TypeError, match="JAX's scan has in this place: docs/moving.md"):
        scanviz.scan(lambda carry, x: (carry + x, x), 0.0, T.vector("x"))


@pytest.mark.parametrize("function", [scanviz.grad, scanviz.jacobian, scanviz.hessian])
def test_differentiating_a_python_function_is_an_error_with_a_fix(function):
    with pytest.raises(TypeError, match="'wrt'") as caught:
        function(lambda x: x**2)
    assert f"scanviz.{function.__name__}(f(x), x)" in notes_of(caught.value)[0]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("from scanviz import while_loop", "scanviz.until(~cond(body(s)))"),
        ("from scanviz.tensor import fill", "T.full_like(a, v)"),
        ("from scanviz.tensor.nnet import conv2d", "there is no convolution"),
        ("from scanviz.tensor.shared_randomstreams import RandomStreams", "T.random.RandomStreams(seed=1)"),
        ("import scanviz.tensor.signal.pool", "there is no convolution"),
        ("from scanviz.ifelse import ifelse", "from scanviz import …: scanviz.ifelse is no module"),
        ("from scanviz.scan.utils import until", "from scanviz import …: scanviz.scan is no module"),
        ("from scanviz.tensor.random.utils import RandomStream", "T.random.RandomStreams(seed=1)"),
    ],
)
def test_importing_a_name_of_another_system_is_an_error_with_a_replacement(line, answer):
    with pytest.raises(ImportError) as caught:
        exec(line)
    (note,) = notes_of(caught.value)
    assert note.startswith("  write:    ") and answer in note


@pytest.mark.parametrize(
    "line", ["from scanviz import nonsense", "import nonsense", "from math import nonsense"]
)
def test_importing_an_unknown_name_gets_no_advice(line):
    with pytest.raises(ImportError) as caught:
        exec(line)
    assert notes_of(caught.value) == []


def test_foreign_functions_and_unknown_keywords_get_no_advice():
    def rows(shape):
        return shape

    with pytest.raises(TypeError) as caught:
        rows(inplace=True)
    assert notes_of(caught.value) == []
    with pytest.raises(TypeError) as caught:
        scanviz.function(flavour=1)
    assert notes_of(caught.value) == []


@pytest.mark.parametrize(
    "name", ["optimizer", "compute_test_value", "device", "gcc__cxxflags", "scan__allow_gc"]
)
def test_a_setting_of_another_system_is_an_error_with_a_replacement(name):
    with pytest.raises(scanviz.ScanvizError, match=f"no setting `{name}`(?s:.*)write:"):
        setattr(scanviz.config, name, "None")
    with pytest.raises(AttributeError, match="expected: one of floatX, .*mode"):
        getattr(scanviz.config, name)
    assert not hasattr(scanviz.config, name)


def test_a_generator_of_numpy_is_no_shared_value():
    for generator in (np.random.default_rng(1), np.random.RandomState(1)):
        with pytest.raises(
            scanviz.ScanvizError, match=r"not an array of numbers(?s:.*)T.random.RandomStreams\(seed\)"
        ):
            scanviz.shared(generator)
    with pytest.raises(scanviz.ScanvizError, match=r"needs a random state first(?s:.*)RandomStreams"):
        T.random.normal(0, 1, size=(3,))


@pytest.mark.parametrize(
    "draw", ["binomial", "exponential", "gumbel", "laplace", "lognormal", "multinomial", "normal", "uniform"]
)
@pytest.mark.parametrize("size", [(3,), (), (T.iscalar("n"), 2), T.matrix("m").shape], ids=str)
def test_a_shape_alone_is_no_parameter_of_a_distribution(draw, size):
    more = {"pvals": [0.5, 0.5]} if draw == "multinomial" else {}
    with pytest.raises(
        scanviz.ScanvizError, match=r"a shape stands in the place of `\w+`(?s:.*)size=…, by name"
    ):
        getattr(STREAMS, draw)(size, **more)
    getattr(STREAMS, draw)(size=size, **more)


def test_lists_and_variables_are_parameters_of_a_distribution():
    m = T.matrix("m")
    for loc in (
        [3],
        (3.0, 1.0),
        T.ivector("k"),
        m,
        m.shape[0],
        m.shape[0] + m.shape[1],
        T.stack([m[0, 0], 1.0]),
    ):
        assert STREAMS.normal(loc).owner is not None
    with pytest.raises(scanviz.ScanvizError, match="in the place of `loc`"):  # as in jax.random
        T.random.normal(T.random.random_state(1), (3,))
    assert STREAMS.normal((3, 4), size=(5, 2)).type.shape == (5, 2)


def test_a_positional_size_is_an_error_with_the_keyword():
    with pytest.raises(scanviz.ScanvizError, match=r"size=\(2, 3\), by name"):
        STREAMS.uniform((2,), 0.0, 1.0)
    with pytest.raises(TypeError, match="multiple values") as caught:
        STREAMS.binomial((2, 3), n=1, p=0.5)
    assert notes_of(caught.value) == ["  write:    size=(2, 3), by name"]


def test_calling_a_size_is_an_error_with_the_attribute():
    x = T.matrix("x")
    for called in (lambda: x.size(), lambda: x.shape(0)):
        with pytest.raises(TypeError, match="not callable") as caught:
            called()
        assert notes_of(caught.value)[0].startswith("  write:    x.shape[0], x.size, x.ndim: attributes")
