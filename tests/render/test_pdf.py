"""PDF without Graphviz: what the SVG has is there, as vectors and as text, in a file that keeps to the format."""

import re
import zlib
from itertools import product

import pytest
from hypothesis import given, settings

from scanviz.render.layout.layered import layered
from scanviz.render.pdf import to_pdf
from scanviz.render.svg import to_svg
from scanviz.testing import random_loops
from tests.render.pictures import hostile_picture, pictures_of, taps_pictures, xml_of
from tests.render.test_layout import drawn, needs

SHAPES = ("rect", "path", "polygon", "polyline")


def objects(data):
    """Return the objects of a PDF, found by its table alone."""
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF", data)[1])
    assert data[start:].startswith(b"xref\n0 ")
    count = int(re.match(rb"xref\n0 (\d+)\n", data[start:])[1])
    rows = data[start:].split(b"\n", 2)[2]
    found = {}
    for number in range(1, count):
        row = rows[20 * number : 20 * number + 20]
        assert row.endswith(b" 00000 n \n")
        head = b"%d 0 obj\n" % number
        place = int(row[:10])
        assert data[place : place + len(head)] == head
        found[number] = data[place + len(head) : data.index(b"\nendobj\n", place)]
    return found


def unpacked(content):
    head, _, rest = content.partition(b"stream\n")
    length = int(re.search(rb"/Length (\d+)", head)[1])
    assert rest[length:] == b"\nendstream"
    return zlib.decompress(rest[:length])


def read(data):
    """Return a PDF's operators, a line each, and its texts as a reader copies them."""
    there = objects(data)
    page = next(each for each in there.values() if b"/Type /Page " in each)
    lines = unpacked(there[int(re.search(rb"/Contents (\d+)", page)[1])]).decode().splitlines()
    letters = {}
    for name, number in re.findall(rb"/(F\d) (\d+) 0 R", page):
        table = unpacked(there[int(re.search(rb"/ToUnicode (\d+)", there[int(number)])[1])])
        letters[name.decode()] = {
            int(glyph, 16): bytes.fromhex(text.decode()).decode("utf-16-be", "surrogatepass")
            for glyph, text in re.findall(rb"^<(\w{4})> <(\w+)>$", table, re.M)
        }
    texts = []
    for line in lines:
        if found := re.search(r"BT /(F\d) .* <(\w*)> Tj ET$", line):
            glyphs = [int(found[2][k : k + 4], 16) for k in range(0, len(found[2]), 4)]
            texts.append("".join(letters[found[1]][glyph] for glyph in glyphs))
    return lines, texts


def elements(svg, *names):
    return [each for each in xml_of(svg).iter() if each.tag.rpartition("}")[2] in names]


def painted(svg):
    """Compare a PDF with the SVG that it was made of, and return its lines."""
    data, notes = to_pdf(svg)
    lines, texts = read(data)
    wanted = ["".join(element.itertext()) for element in elements(svg, "text")]
    if not notes:
        assert texts == [each for each in wanted if each]
    assert len([line for line in lines if line in ("B", "f", "S", "n")]) == len(elements(svg, *SHAPES))
    assert lines.count("q") == lines.count("Q") == len(elements(svg, "g", "a"))
    return lines


@given(case=random_loops())
@settings(max_examples=10)
def test_a_pdf_has_every_shape_and_every_text_of_the_svg(case):
    for picture in pictures_of(case):
        painted(to_svg(picture, layered(picture, True), types=True).encode())


@pytest.mark.usefixtures("engines_here")
@pytest.mark.parametrize(
    ("engine", "name"), [*product(["own", "wasm", "dot"], ["open", "changed"]), ("own", "unrolled")]
)
def test_a_pdf_is_made_of_what_every_engine_draws(engine, name):
    needs(engine)
    svg = drawn(taps_pictures()[name], "svg", engine, 60).data
    lines = painted(svg)
    width, height = (float(word) + 8 for word in xml_of(svg).get("viewBox").split()[2:])
    for line in lines[1:]:
        if line.endswith((" m", " l", " c")):
            numbers = [float(word) for word in line.split()[:-1]]
            assert all(-8 <= number <= width for number in numbers[::2]), line
            assert all(-height <= number <= height for number in numbers[1::2]), (
                line
            )  # Graphviz has 0 at the bottom


@pytest.mark.usefixtures("engines_here")
@pytest.mark.parametrize("engine", ["own", "wasm"])
def test_letters_that_the_font_lacks_are_named(engine):
    needs(engine)
    data, [note] = to_pdf(drawn(hostile_picture(), "svg", engine, 60).data)
    assert "日" in note and ".svg" in note
    _, texts = read(data)
    assert any("\N{REPLACEMENT CHARACTER}" in text for text in texts)


def test_a_curve_of_one_handle_is_the_same_curve_of_two():
    svg = b'<svg viewBox="0 0 9 9"><path d="M0 0Q3 0 3 3" fill="none" stroke="#ff0000"/></svg>'
    lines, _ = read(to_pdf(svg)[0])
    assert lines[1:] == ["1 0 0 RG 1 w [] 0 d", "0 0 m", "2 0 3 1 3 3 c", "S"]


def test_a_way_goes_on_as_it_began_where_more_points_follow():
    svg = b'<svg viewBox="0 0 9 9"><path d="M0,0C1,0 2,1 2,2 2,3 3,4 4,4" fill="none" stroke="black"/></svg>'
    lines, _ = read(to_pdf(svg)[0])
    assert lines[2:] == ["0 0 m", "1 0 2 1 2 2 c", "2 3 3 4 4 4 c", "S"]


@pytest.mark.parametrize(
    "body, told",
    [
        ("<circle r='2'/>", "<circle>"),
        ("<g transform='skewX(3)'/>", "skewX"),
        ("<rect width='1' height='1' fill='url(#a)'/>", "url"),
        ("<path d='M0 0A1 1 0 0 0 2 2'/>", "way A"),
    ],
)
def test_what_it_does_not_know_is_an_error_and_no_gap(body, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        to_pdf(f'<svg viewBox="0 0 9 9">{body}</svg>'.encode())


def test_a_picture_larger_than_a_page_may_be_is_drawn_smaller():
    data, _ = to_pdf(b'<svg viewBox="0 0 20000 100"><rect width="100%" height="100%"/></svg>')
    assert b"/MediaBox [0 0 14400 72]" in data
