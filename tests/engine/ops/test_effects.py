"""Print and Assert: values pass, lines and errors name their place, and rules leave both where they are."""

import io
import pickle

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import AssertFailedError, ScanvizError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.mode import Mode
from scanviz.engine.program.lower import lower
from tests.engine.backends.cupy.stand_in import register
from tests.support.arena import ArenaBackend

register()
MODES = ["numpy", "reference", "stand-in", Mode("numpy", "none"), Mode("reference", "all")]


@pytest.fixture
def file():
    return io.StringIO()


def lines(file):
    return file.getvalue().splitlines()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_nested_loops_print_each_step_once_with_the_steps_of_both(mode, file):
    x, w = T.matrix("x"), T.vector("w")

    def step(row, h):
        scale = T.Print("w", file=file)(w * 2).sum()  # the same at every step, printed at every step
        rows, _ = scanviz.scan(
            lambda a, s: T.Print("s", file=file)(a * scale + s), row, T.constant(0.0), name="inner"
        )
        return h + rows[-1]

    h, _ = scanviz.scan(step, x, T.constant(0.0), name="outer")
    f = scanviz.function([x, w], h[0], mode=mode)  # h[0] needs one step, and all are taken
    assert f(np.ones((2, 2)), [0.25, 0.25]) == 2.0
    assert sorted(lines(file)) == sorted(
        [
            *(f"outer step {t}: w = [0.5 0.5]" for t in range(2)),
            *(f"outer step {t}, inner step {j}: s = {j + 1}." for t in range(2) for j in range(2)),
        ]
    )


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_failed_check_names_message_line_loop_step_and_conditions(mode):
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda x_t, h: T.Assert("h grew too large")(h + x_t, h < 3, x_t > 0), x, T.constant(0.0), name="sums"
    )
    f = scanviz.function([x], h[-1], mode=mode)
    assert f([1.0, 1.0]) == 2.0
    with pytest.raises(AssertFailedError) as caught:
        f(np.ones(6))
    error = caught.value
    assert isinstance(error, AssertionError) and isinstance(error, ScanvizError) and error.step == 3
    assert "h grew too large in loop `sums`" in error.what and "test_effects.py" in str(error.where)
    assert error.found == "`h[t-1] < 3` is False; `x[t] > 0` is True"
    assert "Assert(" in error.text


def test_a_failed_check_of_an_array_names_the_first_false_element():
    x = T.matrix("x")
    ok = x > 0
    ok.name = "ok"
    f = scanviz.function([x], T.Assert("not positive")(x, ok))
    with pytest.raises(AssertFailedError) as caught:
        f([[1.0, -1.0], [-1.0, 2.0]])
    assert caught.value.found == "`ok` is [[True False] [False True]]: false at [0, 1] and 1 more"


def test_a_check_of_no_elements_holds():
    x = T.vector("x")
    assert scanviz.function([x], T.Assert("empty")(x, x > 0))([]).shape == (0,)


@pytest.mark.parametrize(
    "look", [lambda v: T.Print("v", file=io.StringIO())(v), lambda v: T.Assert("v")(v, v < 9)]
)
def test_derivatives_pass_in_both_modes(look):
    x = T.vector("x")
    y = look(T.tanh(x)) ** 2
    plain = T.tanh(x) ** 2
    point = np.array([0.3, -0.7])
    for symbolic, expected in [
        (scanviz.grad(y.sum(), x), scanviz.grad(plain.sum(), x)),
        (scanviz.Rop(y, x, np.array([1.0, 2.0])), scanviz.Rop(plain, x, np.array([1.0, 2.0]))),
    ]:
        np.testing.assert_allclose(symbolic.eval({x: point}), expected.eval({x: point}))


def test_a_condition_has_no_derivative():
    x, y = T.scalar("x"), T.scalar("y")
    assert scanviz.grad(T.Assert("y")(x, y > 0), y, disconnected_inputs="ignore").eval({x: 1.0, y: 1.0}) == 0


def test_prints_are_neither_merged_nor_folded(file):
    x = T.scalar("x")
    a, b = T.Print("a", file=file)(x + 1), T.Print("a", file=file)(x + 1)
    c = T.Print("c", file=file)(T.constant(2.0))
    f = scanviz.function([x], a * b * c)
    assert [f(1.0), f(1.0)] == [8.0, 8.0]
    assert sorted(lines(file)) == sorted(["a = 2.", "a = 2.", "c = 2."] * 2)


def test_values_unused_after_rewriting_are_still_printed(file):
    x = T.vector("x")
    look = T.Print("x", file=file)
    f = scanviz.function([x], [look(x).shape[0], look(x * 2) ** 0, T.concatenate([look(x * 3), x])[-1]])
    f([1.0, 2.0])
    assert len(lines(file)) == 3


def test_equal_loops_that_print_stay_two(file):
    x = T.vector("x")

    def sums():
        h, _ = scanviz.scan(lambda a, h: T.Print("h", file=file)(a + h), x, T.constant(0.0), name="sums")
        return h[-1]

    assert scanviz.function([x], [sums(), sums()])([1.0, 2.0]) == [3.0, 3.0]
    assert len(lines(file)) == 4


def test_an_unread_result_prints_while_the_loop_runs(file):
    x = T.vector("x")
    (h, _), _ = scanviz.scan(
        lambda a, h: (a + h, T.Print("unread", file=file)(a)), x, [T.constant(0.0), None], name="sums"
    )
    scanviz.function([x], h[-1])([1.0, 2.0])
    assert lines(file) == ["sums step 0: unread = 1.", "sums step 1: unread = 2."]


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_an_untaken_branch_prints_nothing(mode, file):
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda a: T.ifelse(a > 0, T.Print("positive", file=file)(a * 2), T.Print("other", file=file)(a * 3)),
        x,
        name="signs",
    )
    scanviz.function([x], h, mode=mode)([1.0, -1.0])
    assert lines(file) == ["signs step 0: positive = 2.", "signs step 1: other = -3."]


def test_prints_of_an_unrolled_loop_name_its_only_step(file):
    x = T.scalar("x")
    h, _ = scanviz.scan(lambda h: T.Print("h", file=file)(h * 2), outputs_info=x, n_steps=1, name="once")
    scanviz.function([x], h)(2.0)
    assert lines(file) == ["once step 0: h = 4."]


def test_large_arrays_are_one_short_line(file):
    value = T.constant(np.arange(1e6).reshape(10, 100, 1000))
    T.Print("big", file=file)(value).eval()
    T.Print("sizes", ("shape", "max", "dtype"), file=file)(value).eval()
    T.Print("none", ("max", "sum"), file=file)(T.constant(np.zeros((0, 3)))).eval()
    assert len(lines(file)) == 3 and max(map(len, lines(file))) < 400
    assert lines(file)[1] == "sizes = shape (10, 100, 1000), max 999999.0, dtype float64"
    assert lines(file)[2] == "none = max of nothing, sum 0.0"


def test_a_printed_line_cannot_steer_the_terminal(file):
    T.Print("a\x1b[2Jb\nc", file=file)(T.constant(1.0)).eval()
    assert file.getvalue() == "a\\x1b[2Jb\\nc = 1.\n"


def test_prints_without_a_file_go_to_standard_error(capsys):
    scanviz.function([], T.Print("one")(T.constant(1.0)))()
    assert capsys.readouterr() == ("", "one = 1.\n")


def test_tracing_values_prints_once(file):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda a, h: T.Print("h", file=file)(a + h), x, T.constant(0.0), name="sums")
    f = scanviz.function([x], h[-1])
    scanviz.trace(f, [1.0, 2.0])
    assert len(lines(file)) == 2


def test_profiled_steps_print_once(file):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda a, h: T.Print("h", file=file)(a + h), x, T.constant(0.0), name="sums")
    scanviz.function([x], h[-1], profile=True)(np.ones(30))
    assert len(lines(file)) == 30


def test_the_test_tier_prints_like_the_others(capsys):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda a, h: T.Print("h")(a + h), x, T.constant(0.0), name="sums")
    ArenaBackend().run(lower([x], [h], "f"), [np.ones(3)])
    assert capsys.readouterr().err.splitlines() == [f"sums step {t}: h = {t + 1}." for t in range(3)]


def test_a_loop_of_no_steps_prints_nothing_and_checks_nothing(file):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda a: T.Assert("never")(T.Print("a", file=file)(a) * 2, a > 100), x, name="empty")
    assert scanviz.function([x], h)([]).shape == (0,)
    assert lines(file) == []


def test_printing_to_a_closed_file_is_an_error():
    closed = io.StringIO()
    x = T.scalar("x")
    f = scanviz.function([x], T.Print("x", file=closed)(x))
    closed.close()
    with pytest.raises(ScanvizValueError, match="is not open in this process"):
        f(1.0)


def test_a_pickled_function_prints_to_standard_error(capsys):
    x = T.scalar("x")
    f = pickle.loads(pickle.dumps(scanviz.function([x], T.Print("x")(x) * 2)))
    assert f(1.0) == 2.0 and capsys.readouterr().err == "x = 1.\n"


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda x: T.Print(x), ScanvizTypeError, 'Print("message")(value)'),
        (lambda x: T.Print("x", file="log.txt"), ScanvizTypeError, "open(path, 'a')"),
        (lambda x: T.Print("x", ["length"]), ScanvizValueError, "'length'"),
        (lambda x: T.Assert("x")(x), ScanvizTypeError, "Assert(message)(value, condition)"),
        (lambda x: T.Assert(x), ScanvizTypeError, 'Assert("message")(value)'),
    ],
)
def test_wrong_use_is_an_error_with_a_fix(wrong, kind, text):
    with pytest.raises(kind) as caught:
        wrong(T.scalar("x"))
    assert text in str(caught.value) and "test_effects.py" in str(caught.value)
