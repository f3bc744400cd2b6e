"""Names of functions and loops of a record, and answers to queries by name."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.record.names import (
    function_titles,
    loop_titles,
    loops_called,
    not_one_function,
    not_one_loop,
    numbered,
)


@pytest.fixture(scope="module")
def record():
    """Return a profile of three functions: two lambdas of one line, and one that shares a loop's name with them."""

    def total(x, name):
        rows, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0, name=name)
        return rows[-1]

    x = T.vector("x")
    functions = [scanviz.function([x], total(x, "rnn") * k, name="same") for k in (2.0, 3.0)]
    functions.append(
        scanviz.function([x], [total(x, "rnn"), T.exp(total(x * 2, "rnn")), total(x, "lone")], name="other",
                         mode=scanviz.Mode("numpy", "all,-ScanMerge"))
    )  # fmt: skip
    with scanviz.profile() as p:
        for k, f in enumerate(functions, 2):
            f(np.ones(k))
    return p.record


def test_functions_of_one_name_have_numbers(record):
    assert [function.name for function in record.functions] == ["same#1", "same#2", "other"]
    assert list(function_titles(record).values()) == ["same#1", "same#2", "other"]


def test_loops_of_one_name_are_distinguished_by_functions_and_numbers(record):
    assert sorted(loop_titles(record).values()) == ["lone", "rnn#1", "rnn#2", "same#1/rnn", "same#2/rnn"]
    steps = {title: loops_called(record, title)[0].steps for title in loop_titles(record).values()}
    assert steps == {"same#1/rnn": 2, "same#2/rnn": 3, "rnn#1": 4, "rnn#2": 4, "lone": 4}


def test_an_ambiguous_name_is_refused_with_the_numbered_names(record):
    assert not_one_loop(record, "rnn") == "4 loops are named 'rnn': same#1/rnn, same#2/rnn, rnn#1, rnn#2"
    assert not_one_loop(record, "other/rnn") == "2 loops are named 'other/rnn': rnn#1, rnn#2"
    assert not_one_function(record, "same") == "2 functions are named 'same': same#1, same#2"
    assert not_one_loop(record, "lone") == not_one_loop(record, "other/lone") == ""
    assert "did you mean lone?" in not_one_loop(record, "loan")


def test_generated_numbers_avoid_existing_names():
    assert numbered(["a", "a", "a#1", "b"]) == ["a#2", "a#3", "a#1", "b"]


def test_loops_of_one_name_have_separate_values_and_reports(record):
    from scanviz.profiler.report.overview import render_report

    assert "3 steps" in render_report(record, scan_name="same#2/rnn")
    assert "4 loops are named 'rnn'" in render_report(record, scan_name="rnn")
