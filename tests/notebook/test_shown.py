"""Records and loops as HTML of a cell."""

import xml.etree.ElementTree as ElementTree

import numpy as np
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.notebook.shown import loop_bundle, record_bundle
from scanviz.record.model import ProfileRecord

HOSTILE = "<script>alert(1)</script>"


def recorded() -> ProfileRecord:
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t + s), sequences=x, outputs_info=0.0, name=HOSTILE)
    f = scanviz.function([x], [sums, scanviz.grad(sums.sum(), x)], name=HOSTILE)
    with scanviz.profile("ops") as p:
        f(np.ones(50))
    return replace(p.record, script=HOSTILE)


def test_a_record_is_a_verdict_and_tables_without_anything_of_the_record_as_html():
    record = recorded()
    text = record_bundle(record)["text/html"]
    tree = ElementTree.fromstring(text)
    assert HOSTILE in "".join(tree.itertext())
    assert {element.tag for element in tree.iter()} <= {"div", "b", "table", "tr", "th", "td", "span"}
    assert len(text) < 20_000


def test_bars_of_the_whole_run_sum_to_it():
    tree = ElementTree.fromstring(record_bundle(recorded())["text/html"])
    [whole] = [table for table in tree.iter("table") if "where the time goes" in "".join(table.itertext())]
    shares = [row[0].find("span").tail for row in list(whole)[1:]]
    assert abs(sum(float(share.strip("<% ")) for share in shares) - 100) < 3


def test_a_loop_shows_its_operations_and_its_variables():
    record = recorded()
    for loop in record.loops:
        tree = ElementTree.fromstring(loop_bundle(loop)["text/html"])
        words = "".join(tree.itertext())
        assert all(variable.kind in words for variable in loop.variables)
        hottest = max(loop.operations, key=lambda operation: operation.typical_ns)
        assert hottest.label in words


def test_an_empty_record_is_shown():
    with scanviz.profile() as p:
        pass
    assert set(p._repr_mimebundle_()) == {"text/html", "text/plain"}
