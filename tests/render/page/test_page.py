"""The page as a file: whole, offline, escaped, and small."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.render.page import Extras, build, page
from scanviz.render.page.build import MARK, SCRIPTS

HOSTILE = "</script><script>alert(1)</script><img src=http://example.org/x onerror=alert(1)>\x1b[31m\"'&amp;☠"


def profiled(name: str = "h", function: str = "train") -> ProfileRecord:
    x, w = T.matrix("x"), T.matrix("w")
    start = T.zeros(3)
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(x_t, w) + h), x, start, name=name)
    cost = T.sum(h[-1] ** 2)
    cost.name = f"cost of {name}"
    f = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name=function)
    with scanviz.profile() as p:
        f(np.ones((12, 3)), np.ones((3, 3)))
    return p.record


@pytest.fixture(scope="module")
def record() -> ProfileRecord:
    return profiled()


class Parts(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str] = []
        self._script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [
            value for name, value in attrs if name in ("src", "href", "xlink:href", "action") and value
        ]
        self._script = tag == "script"

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if self._script:
            self.scripts.append(data)


def data_of(text: str) -> dict:
    return json.loads(Parts(text).scripts[0])


def test_the_page_needs_nothing_but_itself(record):
    text = page(record)
    parts = Parts(text)
    assert set(parts.links) == {"#views"}
    assert parts.tags.count("script") == 2 and "link" not in parts.tags and "iframe" not in parts.tags
    assert "default-src 'none'" in text and text.startswith(f"<!DOCTYPE html>\n<!-- {MARK} -->")
    assert "http:" not in re.sub(r"http://www\.w3\.org/(2000/svg|1999/xlink)", "", text)
    assert "https:" not in text


def test_the_page_holds_the_data_of_the_record(record):
    data = data_of(page(record, Extras(advice=[{"title": "Do this.", "text": "Because."}], notes=["seen"])))
    assert [each["name"] for each in data["loops"]] == [loop.name for loop in record.loops]
    assert data["loops"][0]["series"] == record.loops[0].series.tolist()
    assert data["functions"][0]["rewrites"]["lines"] == list(record.functions[0].rewrites.lines(0))
    assert data["advice"] == [{"title": "Do this.", "text": "Because."}] and data["notes"] == ["seen"]
    [picture] = data["pictures"]
    ids = {each["id"] for each in picture["nodes"]} | {
        port["id"] for each in picture["nodes"] for port in each.get("ports", ())
    }
    assert all(each["source"] in ids and each["target"] in ids for each in picture["edges"])


def test_every_node_of_the_picture_can_be_found_in_its_drawing(record):
    text = page(record)
    [picture] = data_of(text)["pictures"]
    drawing = text[text.index('<div class="drawing"') : text.index("<script>")]
    drawn = set(re.findall(r'\bid="([^"]*)"', drawing))
    assert {each["id"] for each in picture["nodes"]} <= drawn


def test_the_films_of_the_page_end_in_the_graph_as_it_runs(record):
    found = data_of(page(record))["films"]["functions"][str(record.functions[0].key)]
    assert {each["loop"] for each in found["films"]} >= {loop.name for loop in record.loops}
    assert not found["left_out"] and "--film" in found["command"]
    rewrites = record.functions[0].rewrites
    for film in found["films"]:
        assert all(len(seen) == len(film["frames"]) for seen in film["seen"])
        steps = rewrites.steps(len(rewrites.applications))
        last = sum(steps.values()) if film["loop"] is None else steps[film["loop"]]
        assert film["frames"][-1]["operations"] == last


def test_films_without_room_are_named_with_the_command_that_makes_them(record, monkeypatch):
    monkeypatch.setattr(build, "ALL_MARKUP", 30_000)
    data, elements = build.films(record)
    found = data["functions"][str(record.functions[0].key)]
    assert sum(map(len, elements)) < 31_000 and found["left_out"]
    monkeypatch.setattr(build, "ALL_OPERATIONS", 0)
    data, elements = build.films(record)
    assert not elements and set(data["functions"]) == {str(record.functions[0].key)}


def test_names_of_a_script_never_become_markup():
    hostile = replace(
        profiled(HOSTILE, HOSTILE),
        script=HOSTILE,
        arguments=(HOSTILE,),
        outcome=OutcomeRecord("error", 1, HOSTILE),
    )
    text = page(hostile)
    plain = Parts(page(profiled()))
    parts = Parts(text)
    assert parts.tags.count("script") == 2 and parts.tags.count("img") == 0 and parts.links == plain.links
    data = data_of(text)
    assert data["run"]["script"] == HOSTILE and data["functions"][0]["name"] == HOSTILE
    assert "\x1b" not in text.replace("\\u001b", "")


def test_the_same_record_gives_the_same_page(record):
    assert page(record) == page(record)


def test_a_record_of_nothing_has_a_page():
    assert data_of(page(ProfileRecord(script="empty.py")))["loops"] == []


def test_a_million_steps_take_no_more_room_than_a_thousand():
    def size(steps: int) -> int:
        x = T.vector("x")
        sums, _ = scanviz.scan(lambda x_t, s: s + x_t, x, 0.0, name="sums")
        f = scanviz.function([x], sums[-1])
        with scanviz.profile() as p:
            f(np.ones(steps))
        return len(page(p.record))

    assert size(200_000) < 1.3 * size(2_000) < 400_000


def test_every_script_of_the_folder_is_in_the_page():
    from importlib import resources

    names = {each.name for each in (resources.files("scanviz.render.page") / "assets").iterdir()}
    assert names == {*SCRIPTS, "page.html", "page.css"}
