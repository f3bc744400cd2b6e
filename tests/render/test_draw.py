"""scanviz.draw, files in every format, and what notebooks show."""

import json
import re
import subprocess
import sys

import networkx
import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.record.errors import CannotWriteError, ScanvizTypeError, ScanvizValueError
from scanviz.render.draw import written
from tests.render.pictures import hostile_picture, taps_pictures, xml_of


def loop():
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, s: s + T.tanh(x_t), x, 0.0, name="sums")
    return x, sums


def session():
    x, sums = loop()
    f = scanviz.function([x], [sums, scanviz.grad(sums[-1], x)], name="f")
    with scanviz.profile() as p:
        f([1.0, 2.0, 3.0])
    return f, p


def test_anything_with_a_graph_is_drawn():
    x, sums = loop()
    f, p = session()
    for what in (sums, [sums, x], f, p, p.record, sums.owner):
        text = str(scanviz.draw(what))
        assert "tanh" in text and "╔═ loop sums" in text
    both = f"{scanviz.draw(p)}{scanviz.draw(p.record)}"
    assert re.search(r"· [\d.]+ (ns|µs|ms)$", both, re.MULTILINE)
    assert "╔═" not in str(scanviz.draw(f, depth=0))


@pytest.mark.parametrize("what", [3, "x", None, [1]])
def test_an_object_without_a_graph_is_refused(what):
    with pytest.raises(ScanvizTypeError, match="has no graph"):
        scanviz.draw(what)
    with pytest.raises(ScanvizValueError, match="holds no graph"):
        with scanviz.profile() as p:
            pass
        scanviz.draw(p)


def test_an_unknown_loop_is_named_with_the_known_ones():
    with pytest.raises(ScanvizValueError, match="sums"):
        scanviz.draw(loop()[1], scan="sum")


@pytest.mark.parametrize("form", ["svg", "dot", "txt", "json", "graphml", "html"])
def test_a_picture_is_overwritten_but_a_foreign_file_never(tmp_path, form):
    file = tmp_path / f"x.{form}"
    _, sums = loop()
    scanviz.draw(sums, file)
    before = file.read_bytes()
    scanviz.draw(sums, file)
    assert file.read_bytes() == before and before
    file.write_text("my own")
    with pytest.raises(CannotWriteError, match="is no picture of scanviz"):
        scanviz.draw(sums, file)
    assert file.read_text() == "my own"
    scanviz.draw(sums, file, force=True)
    assert file.read_bytes() == before


def test_an_unknown_file_extension_is_refused(tmp_path):
    with pytest.raises(ScanvizValueError, match="has no supported extension"):
        scanviz.draw(loop()[1], tmp_path / "x.jpeg")


@pytest.mark.parametrize("form", ["svg", "dot", "txt", "json", "graphml", "html"])
def test_every_format_takes_hostile_names(form):
    data = written(hostile_picture(), form, engine="own").data
    assert b"\x1b" not in data
    if form in ("svg", "graphml"):
        xml_of(data)
    if form == "json":
        json.loads(data)
    if form == "html":
        assert data.lower().count(b"<script") == 0


def test_node_link_json_and_graphml_are_read_back_by_networkx():
    diagram = taps_pictures()["open"]
    data = json.loads(written(diagram, "json").data)
    data.pop("made_by")
    graph = networkx.node_link_graph(data, edges="edges" if "edges" in data else "links")
    assert graph.number_of_nodes() >= len(diagram.nodes)
    again = networkx.parse_graphml(written(diagram, "graphml").text)
    assert again.number_of_nodes() == graph.number_of_nodes()
    assert again.number_of_edges() == graph.number_of_edges()


# notebooks


def test_variables_and_functions_show_pictures_in_a_notebook():
    x, sums = loop()
    f, _ = session()
    for what in (
        sums,
        x,
        f,
        sums.owner.inputs[0],
        scanviz.shared(np.zeros(2), "s"),
        T.constant(1.0),
        scanviz.draw(sums),
    ):
        bundle = what._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "image/svg+xml"}
        root = xml_of(bundle["image/svg+xml"].encode())
        assert root.tag.endswith("svg")
    assert "sums" in sums._repr_mimebundle_()["image/svg+xml"]


def test_the_engine_alone_shows_text():
    code = "import scanviz.engine.graph.nodes as n; from scanviz.engine.display import PICTURES; PICTURES.clear();"
    code += "import scanviz; from scanviz import tensor as T; PICTURES.clear(); print(T.vector('x')._repr_mimebundle_())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert "text/plain" in done.stdout and "svg" not in done.stdout
