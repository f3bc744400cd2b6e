"""Steps with other parameters than scan passes, or invalid results, are errors with a place and a fix."""

import pytest

import scanviz
from scanviz import tensor as T

x, w = T.vector("x"), T.scalar("w")


def refused(fn, **arguments):
    with pytest.raises(scanviz.ScanvizError) as caught:
        scanviz.scan(fn, sequences=x, **arguments)
    assert caught.value.where.line == fn.__code__.co_firstlineno
    return caught.value


def test_forgotten_outputs_info_is_named_with_the_parameter_it_would_fill():
    def step(x_t, h):
        return h + x_t

    error = refused(step)
    assert isinstance(error, TypeError)
    assert "`step` takes 2 arguments, scan passes 1 argument" in error.what
    assert error.expected == "parameters for x[t] (sequences)"
    assert "step(x_t, h), called with x_t = x[t]" in error.found
    assert "outputs_info=[…] in scan if `h` is what the step before returned" in error.fix


def test_a_state_too_few_asks_for_one_more_first_value():
    error = refused(lambda x_t, h, c, w: h, outputs_info=[0.0])
    assert "outputs_info with a first value for each of `c`, `w`" in error.fix
    assert "non_sequences=[…]" in error.fix


def test_a_surplus_argument_of_a_step_is_an_error_with_its_origin():
    error = refused(lambda x_t: x_t, outputs_info=[0.0], non_sequences=[w])
    assert "output 0[t-1] (outputs_info[0]), w (non_sequences)" in error.expected
    assert "a parameter more for output 0[t-1] (from outputs_info[0]), w (from non_sequences)" in error.fix
    assert "or None in outputs_info" in error.fix and "the order is" in error.fix


def test_a_parameter_by_name_alone_cannot_be_passed():
    error = refused(lambda x_t, *, h: x_t)
    assert "missing a required" in error.what and "argument: 'h'" in error.what


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x_t: None, "a function without `return` gives it"),
        (lambda x_t: (x_t, None), "leave out what is None beside other results"),
        (lambda x_t: (a for a in [x_t]), "takes what it returns"),
        (lambda x_t: [[x_t, x_t], x_t], "a list in a list"),
        (lambda x_t: T.tanh, "it was not called"),
        (lambda x_t: "text", "str"),
        (lambda x_t: [x_t, None], "None"),
        (lambda x_t: {"h": x_t}, None),
        (lambda x_t: object(), "object"),
    ],
)
def test_an_invalid_return_value_is_an_error_with_its_type(fn, expected):
    error = refused(fn)
    assert isinstance(error, ValueError | TypeError)
    assert expected is None or expected in error.found


def test_a_generator_function_is_recognized():
    def step(x_t):
        yield x_t

    assert "generator" in refused(step).found


def test_an_async_step_is_recognized():
    async def step(x_t):
        return x_t

    with pytest.warns(RuntimeWarning, match="never awaited"):
        assert "coroutine" in refused(step).found
        import gc

        gc.collect()


def test_an_array_or_number_is_a_result_like_any_other():
    import numpy as np

    rows, _ = scanviz.scan(lambda x_t: [np.ones(2), 3.0], sequences=x)
    ones, threes = scanviz.function([x], rows)([1.0, 2.0])
    assert ones.shape == (2, 2) and list(threes) == [3.0, 3.0]
