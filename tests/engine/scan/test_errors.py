"""Every mistake a user can make with scan gets a message in their own names, with what to write instead."""

import numpy as np
import pytest

import scanviz
from scanviz import ScanvizError
from scanviz import tensor as T
from scanviz.engine.errors import MissingInputError, ScanvizTypeError, ScanvizValueError, ShapeError


def message(build):
    with pytest.raises(ScanvizError) as caught:
        build()
    text = str(caught.value)
    first = text.splitlines()[0]
    assert "test_errors.py:" in first, f"no place in the first line: {first}"
    assert "scanviz.engine" not in text
    return text


def x():
    return T.vector("x")


CASES = {
    "no function": (lambda: scanviz.scan(x(), n_steps=2), ["the step must be a function"]),
    "no steps": (
        lambda: scanviz.scan(lambda: 1.0, name="loop"),
        ["`loop` has no number of steps", "n_steps="],
    ),
    "a float n_steps": (
        lambda: scanviz.scan(lambda: 1.0, n_steps=2.0),
        ["n_steps must be an integer", "2.0"],
    ),
    "a float symbolic n_steps": (
        lambda: scanviz.scan(lambda: 1.0, n_steps=T.scalar("n")),
        ["n_steps must be an integer", "`n`"],
    ),
    "negative n_steps": (
        lambda: scanviz.scan(lambda v: v, x(), n_steps=-1),
        ["cannot be negative", "go_backwards=True"],
    ),
    "a sequence known to be short": (
        lambda: scanviz.scan(lambda v: v, T.tensor("float64", (3,), "x"), n_steps=5),
        ["`x` is too short for 5 steps", "at least 5 rows", "3 rows"],
    ),
    "a scalar sequence": (
        lambda: scanviz.scan(lambda v: v, T.scalar("s")),
        ["`s`, has no rows", "non_sequences"],
    ),
    "taps without an initial state": (
        lambda: scanviz.scan(lambda h: h, outputs_info=dict(taps=[-2]), n_steps=2),
        ["outputs_info[0] asks for taps but has no initial state", "initial="],
    ),
    "duplicate taps": (
        lambda: scanviz.scan(lambda a, b: a, outputs_info=dict(initial=x(), taps=[-1, -1]), n_steps=2),
        ["name a step twice", "[-1, -1]"],
    ),
    "a future tap of an output": (
        lambda: scanviz.scan(lambda a: a, outputs_info=dict(initial=x(), taps=[0]), n_steps=2),
        ["results of later steps", "taps=[0]"],
    ),
    "too few initial rows": (
        lambda: scanviz.scan(lambda a: a, outputs_info=dict(initial=np.zeros(2), taps=[-3]), n_steps=2),
        ["must have a row for each step", "expected: 3 rows", "shape (2,)"],
    ),
    "an unknown key": (
        lambda: scanviz.scan(lambda a: a, dict(input=x(), tap=0)),
        ["unknown keys: tap", "input, taps"],
    ),
    "a key of old scripts": (
        lambda: scanviz.scan(lambda v, h: h + v, x(), dict(initial=0.0, return_steps=1)),
        ["unknown keys: return_steps", "initial, taps", "out[-1] or out[-k:] alone is read"],
    ),
    "another number of outputs": (
        lambda: scanviz.scan(lambda v, h: h + v, x(), [0.0, None]),
        ["returns 1 output, but outputs_info has 2 items", "leave outputs_info[1] out"],
    ),
    "None returned": (
        lambda: scanviz.scan(lambda v: None, x()),
        ["returned None", "return one of", "until(condition)"],
    ),
    "wrong arguments": (
        lambda: scanviz.scan(lambda a, b: a, x()),
        ["takes 2 arguments, scan passes 1 argument", "x[t] (sequences)", "(a, b)"],
    ),
    "a silent downcast": (
        lambda: scanviz.scan(lambda v, h_tm1: h_tm1 + v, x(), np.float32(0)),
        [
            "state `h` starts as float32 but the step returns float64",
            'T.cast(result, "float32")',
            "h_tm1 + v",
        ],
    ),
    "whole numbers for a state of floats": (
        lambda: scanviz.scan(lambda h: T.cast(h, "int64"), outputs_info=T.scalar("h0"), n_steps=2),
        ["state `h` starts as float64 but the step returns int64", 'T.cast(result, "float64")'],
    ),
    "small whole numbers for a state of floats": (
        lambda: scanviz.scan(lambda h: T.cast(h, "int8"), outputs_info=T.fscalar("h0"), n_steps=2),
        ["state `h` starts as float32 but the step returns int8"],
    ),
    "truth values for a state of floats": (
        lambda: scanviz.scan(lambda h: h > 0, outputs_info=0.0, n_steps=2),
        ["state `h` starts as float64 but the step returns bool"],
    ),
    "a float for a state of whole numbers": (
        lambda: scanviz.scan(lambda h: 0.5, outputs_info=np.int64(0), n_steps=2),
        ["state `h` starts as int64 but the step returns float64"],
    ),
    "a number that its dtype cannot hold": (
        lambda: scanviz.scan(lambda v, h: h + v, T.tensor("uint8", (None,), "q"), 300),
        ["state `h` starts from 300, which does not fit into uint8", "`h[t-1] + q[t]`", '"int64"'],
    ),
    "another rank": (
        lambda: scanviz.scan(lambda h: h + x(), outputs_info=T.scalar("h0"), n_steps=2),
        ["state `h` has rows of 0 dimensions but the step returns 1", "`h0`"],
    ),
    "another size": (
        lambda: scanviz.scan(lambda h: T.concatenate([h, h]), outputs_info=np.zeros(2), n_steps=2),
        ["state `h` starts with a row of shape (2,) but the step returns shape (4,)"],
    ),
    "a condition that is no scalar": (
        lambda: scanviz.scan(lambda v: (v, scanviz.until(v > 0)), T.matrix("x")),
        ["must be one number", "T.all(condition)"],
    ),
    "until not last": (
        lambda: scanviz.scan(lambda v: [scanviz.until(v > 0), v], x()),
        ["must be the last thing"],
    ),
    "an update of something else": (
        lambda: scanviz.scan(lambda v: {v: v + 1}, x()),
        ["only shared variables can be updated", "`x[t]`"],
    ),
    "truncate_gradient of 0": (
        lambda: scanviz.scan(lambda v: v, x(), truncate_gradient=0),
        ["truncate_gradient cannot be used"],
    ),
    "an update of another dtype": (
        lambda: _update_of(0, lambda s: s + 0.5),
        ["the update of `state` has dtype float64, which int64"],
    ),
}


def _update_of(start, new):
    state = scanviz.shared(start, "state")
    return scanviz.scan(lambda: {state: new(state)}, n_steps=2)


@pytest.mark.parametrize("name", CASES)
def test_common_mistakes_are_explained(name):
    build, parts = CASES[name]
    text = message(build)
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"


def test_strict_names_all_shared_variables_that_were_not_passed():
    a, b = scanviz.shared(1.0, "a"), scanviz.shared(2.0, "b")
    with pytest.raises(MissingInputError, match="`a`, `b`"):
        scanviz.scan(lambda v: v * a + b, x(), strict=True)
    scanviz.scan(lambda v, a, b: v * a + b, x(), non_sequences=[a, b], strict=True)
    w = T.scalar("w")
    scanviz.scan(lambda v: v * w, x(), strict=True)
    with pytest.raises(MissingInputError, match="`w`"):
        scanviz.scan(lambda v: v * w, x(), strict="all")


def test_taps_none_is_a_warning_and_passes_no_tap():
    with pytest.warns(UserWarning, match="initial value is not used"):
        result, _ = scanviz.scan(lambda v: v * 2, x(), dict(initial=0.0, taps=None))
    assert result.owner.op.of_kind("nitsot")


RUN_TIME = {
    "negative steps": (lambda v, n: scanviz.scan(lambda a: a, v, n_steps=n, name="loop"), (np.ones(3), -2), ScanvizValueError, ["`loop` was asked for -2 steps", "go_backwards"]),
    "a short sequence": (lambda v, n: scanviz.scan(lambda a: a, v, n_steps=n, name="loop"), (np.ones(3), 5), ScanvizValueError, ["sequence `x` is too short for loop `loop`", "at least 5", "3 rows"]),
    "a state that shrinks": (lambda v, n: scanviz.scan(lambda h: h[1:], outputs_info=v, n_steps=n, name="loop"), (np.ones(3), 2), ShapeError, ["state `h` of loop `loop` changed its shape", "at step 0", "(3,)", "(2,)", "h[1:]"]),
    "a state that would broadcast": (lambda v, n: scanviz.scan(lambda h: h[:1], outputs_info=v, n_steps=n, name="loop"), (np.ones(3), 2), ShapeError, ["changed its shape", "(1,)"]),
    "an output that grows": (lambda v, n: scanviz.scan(lambda i: v[:i], T.arange(n), name="loop"), (np.ones(3), 3), ShapeError, ["changed its shape", "at step 1"]),
    "shapes that do not fit": (lambda v, n: scanviz.scan(lambda a: a + v[:n], v, name="loop"), (np.ones(3), 2), None, []),
    "an index out of bounds": (lambda v, n: scanviz.scan(lambda i: v[i], T.arange(n), name="loop"), (np.ones(3), 9), IndexError, ["in loop `loop`", "at step 3", "v[i]"]),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["reference", "numpy"])
@pytest.mark.parametrize("name", RUN_TIME)
def test_a_mistake_found_at_run_time_names_loop_step_and_line(name, mode):
    build, values, kind, parts = RUN_TIME[name]
    v, n = x(), T.lscalar("n")
    result, _ = build(v, n)
    f = scanviz.function([v, n], result, mode=mode, on_unused_input="ignore")
    if kind is None:
        f(*values)
        return
    with pytest.raises(kind) as caught:
        f(*values)
    assert isinstance(caught.value, ScanvizError)
    text = str(caught.value)
    assert "test_errors.py:" in text.splitlines()[0]
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"


def test_views_check_their_arguments():
    with pytest.raises(ScanvizValueError, match="a value to start from"):
        scanviz.reduce(lambda v, a: a, x(), None)
    with pytest.raises(ScanvizTypeError, match="true or false"):
        scanviz.filter(lambda v: v * 2, x())
    with pytest.raises(ScanvizValueError, match="one condition"):
        scanviz.filter(lambda a, b, c: [a > 0, b > 0], [x(), x(), x()])
