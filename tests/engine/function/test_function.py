"""Functions: inputs, outputs, updates, aliasing, pickles, threads, recovery."""

import pickle
import threading

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import MissingInputError, ScanvizTypeError, UnusedInputError


def test_outputs_have_the_structure_of_the_request():
    x = T.vector("x")
    assert scanviz.function([x], x * 2)([1.0]).tolist() == [2]
    assert isinstance(scanviz.function([x], [x * 2])([1.0]), list)
    assert isinstance(scanviz.function([x], (x * 2, x))([1.0]), tuple)
    assert sorted(scanviz.function([x], {"a": x, "b": x + 1})([1.0])) == ["a", "b"]
    assert scanviz.function([x], None, on_unused_input="ignore")([1.0]) is None


def test_inputs_are_checked_and_named():
    v, i = T.fvector("v"), T.ivector("i")
    f = scanviz.function([v, i], v.sum() + i.sum())
    assert f([1, 2], range(3)) == 6
    with pytest.raises(ScanvizTypeError, match="`i` would lose precision: 4294967296 is no int32"):
        f([1.0], np.arange(2) * 2**32)
    with pytest.raises(ScanvizTypeError, match="`v` would lose precision: 0.1 is no float32"):
        f(np.full(2, 0.1), [1])
    with pytest.raises(ScanvizTypeError, match="`v` has the wrong number of dimensions"):
        f([[1.0]], [1])
    with pytest.raises(ScanvizTypeError, match="needs a value for input `i`"):
        f([1.0])
    with pytest.raises(ScanvizTypeError, match="no input named `w`"):
        f([1.0], w=[1])
    loose = scanviz.function([v], v, allow_input_downcast=True)
    assert loose(np.zeros(2)).dtype == "float32"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "int64", "float32"])
def test_only_exactly_convertible_numbers_and_arrays_are_accepted(dtype):
    x, rows = T.tensor(dtype, (), "x"), T.tensor(dtype, (None,), "rows")
    f, g = scanviz.function([x], x), scanviz.function([rows], rows)
    values = [
        0,
        1,
        1.0,
        1.5,
        -1,
        255,
        300.0,
        -0.0,
        2**24 + 1,
        2.0**40,
        1e300,
        np.nan,
        np.inf,
        -128,
        2**32 - 1,
    ]
    for value in values:
        for kind in ("float64", "int64", "uint64", "int32", "uint8"):
            with np.errstate(all="ignore"):
                array = np.array(value).astype(kind)
                converted = array.astype(dtype)
            same = converted.item() == array.item() or (np.isnan(array) and np.isnan(converted))
            for given, call in ((array[()], f), (array, f), (array.reshape(1), g)):
                if same or np.can_cast(array.dtype, dtype, "safe"):
                    assert call(given).dtype == dtype and np.array_equal(
                        call(given), converted.reshape(given.shape), True
                    )
                else:
                    with pytest.raises(ScanvizTypeError, match=r"(?s)would lose precision.*write:"):
                        call(given)


def test_python_numbers_convert_to_integers_only_if_exact_and_always_to_floats():
    i, b, v = T.iscalar("i"), T.tensor("int8", (), "b"), T.fvector("v")
    assert scanviz.function([i], i)(1.0) == 1 and scanviz.function([i], i)(np.int64(1)) == 1
    assert scanviz.function([v], v)([0.1, 2**24 + 1]).dtype == "float32"
    for value in (1.5, 300, 300.0, float("nan")):
        with pytest.raises(ScanvizTypeError, match=f"`b` would lose precision: {value} is no int8"):
            scanviz.function([b], b)(value)
    with pytest.raises(ScanvizTypeError, match=f"(?s)no array of numbers.*{2**70}"):
        scanviz.function([b], b)(2**70)


def test_an_input_needed_for_its_known_size_alone_counts_as_used():
    x = T.tensor("float64", (3, 2), "x")
    steps, _ = scanviz.scan(lambda s: s + 1, outputs_info=0.0, n_steps=(x * 2).shape[0])
    f = scanviz.function([x], [steps, T.zeros(x.shape), x.size, T.alloc(1.0, x.shape[1])])
    assert [each.shape for each in f(np.zeros((3, 2)))] == [(3,), (3, 2), (), (2,)]
    y = x + 1
    assert scanviz.function([y], y.shape[0])(np.zeros((3, 2))) == 3
    with pytest.raises(UnusedInputError, match="`z`"):
        scanviz.function([T.vector("z")], x.shape[0])


@pytest.mark.parametrize("nothing", [None, [], (), {}])
def test_empty_updates_can_be_written_in_any_form(nothing):
    x = T.vector("x")
    assert scanviz.function([x], x * 2, updates=nothing, givens=nothing)([1.0]).tolist() == [2.0]


def test_inputs_have_defaults_and_keywords():
    x, y = T.scalar("x"), T.scalar("y")
    f = scanviz.function([x, scanviz.In(y, value=10.0, name="why")], x + y)
    assert f(1.0) == 11 and f(1.0, why=2.0) == 3 and f(x=1.0) == 11


def test_missing_and_unused_inputs_are_explained():
    x, y = T.scalar("x"), T.scalar("y")
    with pytest.raises(MissingInputError, match="`y` is needed but is no input"):
        scanviz.function([x], x + y)
    with pytest.raises(UnusedInputError, match="`y`"):
        scanviz.function([x, y], x)
    with pytest.warns(UserWarning, match="`y`"):
        scanviz.function([x, y], x, on_unused_input="warn")


def test_updates_are_simultaneous():
    a, b = scanviz.shared(np.array([1.0, 2.0]), "a"), scanviz.shared(np.array([3.0, 4.0]), "b")
    swap = scanviz.function([], [], updates={a: b, b: a})
    swap()
    assert a.get_value().tolist() == [3, 4] and b.get_value().tolist() == [1, 2]
    a.get_value(borrow=True)[0] = 9
    assert b.get_value().tolist() == [1, 2]


def test_givens_replace_variables():
    x, y = T.vector("x"), T.vector("y")
    f = scanviz.function([y], (x * 2).sum(), givens={x: y + 1})
    assert f([1.0, 2.0]) == 10


def test_outputs_share_no_memory_unless_borrowed():
    x = T.vector("x")
    state = scanviz.shared(np.zeros(3), "state")
    f = scanviz.function([x], [x, x[1:], state, x + 0, x])
    value = np.arange(3.0)
    found = f(value)
    held = [value, state.get_value(borrow=True)]
    for k, each in enumerate(found):
        assert not any(np.may_share_memory(each, other) for other in (*held, *found[:k]))
    borrowed = scanviz.function([x], scanviz.Out(x, borrow=True))(value)
    assert np.may_share_memory(borrowed, value)


def test_a_failing_call_changes_nothing_and_the_next_one_works():
    x, count = T.vector("x"), scanviz.shared(0, "count")
    rows, _ = scanviz.scan(lambda i: x[T.cast(i, "int64")], T.arange(3.0))
    f = scanviz.function([x], rows, updates={count: count + 1})
    for _ in range(2):
        with pytest.raises(scanviz.ScanvizError):
            f([1.0])
    assert count.get_value() == 0
    assert f([1.0, 2.0, 3.0]).tolist() == [1, 2, 3] and count.get_value() == 1


@pytest.mark.parametrize("mode", ["reference", "numpy"])
def test_functions_survive_pickling_with_their_state(mode):
    x, w = T.matrix("x"), scanviz.shared(np.eye(3), "w")
    stream = T.random.RandomStreams(5)

    def step(row, h):
        inner, _ = scanviz.scan(lambda v, s: s + v, row, 0.0)
        return T.tanh(T.dot(h, w) + row) + 0 * inner[-1] + 0 * stream.uniform()

    rows, updates = scanviz.scan(step, x, T.zeros(3), name="pickled")
    f = scanviz.function([x], rows, updates={**updates, w: w * 0.5}, mode=mode, name="f")
    again = pickle.loads(pickle.dumps(f))
    value = np.ones((4, 3))
    np.testing.assert_array_equal(f(value), again(value))
    np.testing.assert_array_equal(f(value), again(value))
    assert again.name == "f"


def test_a_deep_graph_can_be_built_compiled_and_pickled():
    x = T.scalar("x")
    y = x
    for _ in range(5000):
        y = y + 1.0
    f = scanviz.function([x], y)
    assert pickle.loads(pickle.dumps(f))(0.0) == 5000


def test_no_update_is_lost_between_threads():
    count = scanviz.shared(0, "count")
    f = scanviz.function([], [], updates={count: count + 1})
    threads = [threading.Thread(target=lambda: [f() for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.get_value() == 800


def test_default_updates_can_be_left_out():
    stream = T.random.RandomStreams(6)
    draw = stream.uniform(size=3)
    moving, still = scanviz.function([], draw), scanviz.function([], draw, no_default_updates=True)
    assert still().tolist() == still().tolist()
    first = moving().tolist()
    assert moving().tolist() != first
    stream.seed(6)
    assert moving().tolist() == first


def test_ifelse_computes_only_the_taken_branch():
    c, x = T.scalar("c"), T.vector("x")
    y = scanviz.ifelse(c > 0, x[100], x.sum())
    f = scanviz.function([c, x], y)
    assert f(-1.0, [1.0, 2.0]) == 3
    with pytest.raises(scanviz.ScanvizError):
        f(1.0, [1.0, 2.0])


def test_shared_values_are_copied_unless_borrowed():
    value = np.zeros(2)
    s = scanviz.shared(value, "s")
    value[0] = 1
    assert s.get_value().tolist() == [0, 0]
    s.get_value()[0] = 5
    assert s.get_value().tolist() == [0, 0]
    with pytest.raises(ScanvizTypeError, match="`s` cannot hold"):
        s.set_value(np.zeros((2, 2)))


@pytest.mark.parametrize("mode", ["reference", "numpy", "native"])
def test_a_constant_that_ifelse_chooses_is_the_callers_own(mode):
    x = T.scalar("x")
    table = T.constant(np.arange(6.0).reshape(2, 3))
    inner = scanviz.ifelse(x > 1, table.T, table.T + 1)
    f = scanviz.function(
        [x], [scanviz.ifelse(x > 0, table, table + 1), scanviz.ifelse(x > 0, inner, table.T)], mode=mode
    )
    for result in f(2.0):
        result += 1
    whole, turned = f(2.0)
    assert whole.tolist() == turned.T.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not np.shares_memory(whole, turned)


@pytest.mark.parametrize("mode", ["reference", "numpy", "native", "auto"])
def test_results_without_elements_are_the_callers_own_too(mode):
    x = T.matrix("x")
    f = scanviz.function([x], [x, x.T, T.zeros((0, 4)), T.zeros((0, 4)) + x[:0, :4]], mode=mode)
    given = np.ones((0, 4))
    given.flags.writeable = False
    found = f(given)
    assert len({id(result) for result in (given, *found)}) == 5
    for result in found:
        result += 1
