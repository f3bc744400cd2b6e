"""PNG without Graphviz: letters are drawn in scanviz's own font, on any machine, and no picture is too large."""

import struct

import resvg_py
from msgspec.structs import replace

from scanviz.render import engines
from scanviz.render.diagram.model import Diagram, Node
from scanviz.render.engines import drawn, to_png
from tests.render.pictures import hostile_picture

SIZE = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}">{}</svg>'
WORD = '<text x="20" y="12" text-anchor="middle" font-family="Helvetica" font-size="11">{}</text>'


def size(data):
    return struct.unpack(">II", data[16:24])


def svg(text="", width="40", height="20"):
    return SIZE.format(width, height, text).encode()


def asked_renderer(monkeypatch):
    """Return what resvg is asked."""
    asked = {}

    def stand_in(**named):
        asked.update(named)
        return b"\x89PNG"

    monkeypatch.setattr(resvg_py, "svg_to_bytes", stand_in)
    return asked


def test_letters_are_drawn_in_the_font_that_scanviz_brings(monkeypatch):
    blank = to_png(svg())[0]
    usual, bold = (to_png(svg(WORD.format("h[t-1] ← θ")))[0], to_png(svg(WORD.format("i")))[0])
    assert len({blank, usual, bold}) == 3
    asked = asked_renderer(monkeypatch)
    to_png(svg(WORD.format("h[t-1] ← θ")))
    assert len(asked["font_files"]) == 2
    assert 'font-family="scanviz Sans"' in asked["svg_string"] and "Helvetica" not in asked["svg_string"]


def test_two_pixels_are_a_unit():
    assert size(to_png(svg())[0]) == (80, 40)


def test_a_large_picture_is_scaled_down_with_a_note(monkeypatch):
    monkeypatch.setattr(engines, "MOST_PIXELS", 2_000_000)
    data, [note] = to_png(svg(width="3000", height="1000"))
    width, height = size(data)
    assert 1_900_000 < width * height < 2_100_000 and abs(width - 3 * height) < 6
    assert "of its size" in note and ".svg has it whole" in note


def test_names_that_look_like_an_attribute_stay_as_they_are(monkeypatch):
    asked = asked_renderer(monkeypatch)
    to_png(drawn(Diagram("f", (Node("x", "input", 'a font-family="b"'),)), engine="own").data)
    assert 'a font-family="b"' in asked["svg_string"].replace("&quot;", '"').replace("\xa0", " ")


def test_hostile_names_give_a_png():
    picture = hostile_picture()
    small = replace(picture, nodes=picture.nodes[:6], edges=(), clusters=())
    assert drawn(small, "png", "own", 30).data.startswith(b"\x89PNG")
