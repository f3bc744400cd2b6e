"""The font that comes with scanviz: it has the signs of pictures, and its letters fit where the layout leaves room for them."""

import pytest
from hypothesis import given, settings

from scanviz.render import fonts
from scanviz.render.colours import CHANGE_SIGNS
from scanviz.render.labels import legend_of, node_lines, text_width
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import LETTER, SMALL
from scanviz.testing import random_loops
from tests.render.pictures import pictures_of, taps_pictures


@pytest.mark.parametrize("bold", [False, True])
def test_glyphs_and_widths_are_those_of_the_file(bold):
    face = fonts.face(bold=bold)
    # read from the files with fontTools 4.68: hmtx["m"], hmtx["i"], hmtx["arrowleft"] and hmtx["theta"]
    wanted = {False: (1795, 512, 1544, 1127), True: (1920, 631, 1544, 1266)}[bold]
    assert tuple(face.widths[face.glyph(each)] for each in "mi←θ") == wanted
    assert face.units == 2048


@pytest.mark.parametrize("bold", [False, True])
def test_a_glyph_is_of_one_letter_so_that_what_is_copied_is_what_was_written(bold):
    glyphs = fonts.face(bold=bold).glyphs
    assert len(set(glyphs.values())) == len(glyphs) > 1500


def test_a_letter_that_is_not_there_is_drawn_as_one_that_says_so():
    face = fonts.face(bold=False)
    assert face.glyph("日") == face.glyph("\N{REPLACEMENT CHARACTER}") != 0


def test_both_faces_have_the_same_letters():
    assert fonts.face(bold=False).glyphs.keys() == fonts.face(bold=True).glyphs.keys()


def test_every_sign_that_pictures_have_of_themselves_is_there():
    assert fonts.covers("".join(CHANGE_SIGNS.values()) + "…·→←−×⇢↻ αβγθλμσωΣ ≤≥≠ ∂∇ ²₀ é ß ж")
    for picture in taps_pictures().values():
        assert all(fonts.covers(line) for node in picture.nodes for line in node_lines(node, True))
        assert legend_of(picture).kinds


@given(case=random_loops())
@settings(max_examples=10)
def test_the_lines_of_a_node_fit_into_it(case):
    for picture in pictures_of(case):
        boxes = layered(picture, True).boxes
        for node in picture.nodes:
            for place, line in enumerate(node_lines(node, True)):
                face = fonts.face(bold=place == 0 and node.kind == "loop")
                assert face.width(line, SMALL if place else LETTER) <= boxes[node.id].width, line


def test_the_layout_takes_text_to_be_about_as_wide_as_it_is():
    for text in ("dot(x[t-1], W_out)", "non-sequence", "maximum(u.shape[0] - 4, 0)", "2.53 ms · 6%"):
        assert 0.85 < fonts.face(bold=False).width(text, 1) / text_width(text, 1) < 1.05
