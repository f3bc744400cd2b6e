"""The font that comes with scanviz: it has the signs of pictures, and its letters fit where the layout leaves room for them."""

import functools
import io

from fontTools.ttLib import TTFont
from hypothesis import given, settings

from scanviz.render import fonts
from scanviz.render.colours import CHANGE_SIGNS
from scanviz.render.labels import legend_rows, node_lines, text_width
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import LETTER
from scanviz.testing import random_loops
from tests.render.pictures import pictures_of, taps_pictures


@functools.cache
def face(bold):
    """Return the characters of a face with their widths, a size of 1 being 1."""
    with TTFont(io.BytesIO(fonts.files()[bold].read_bytes())) as font:
        units, widths = font["head"].unitsPerEm, font["hmtx"].metrics
        return {code: widths[name][0] / units for code, name in font.getBestCmap().items()}


def width(text, size, bold=False):
    letters = face(bold)
    return size * sum(letters.get(ord(char), letters[0xFFFD]) for char in text)


def covered(text):
    return all(ord(char) in face(False) for char in text)


def test_both_faces_have_the_same_letters():
    assert face(False).keys() == face(True).keys() and len(face(True)) > 1500


def test_the_font_has_every_sign_of_pictures():
    assert covered("".join(CHANGE_SIGNS.values()) + "…·→←−×⇢↻ αβγθλμσωΣ ≤≥≠ ∂∇ ²₀ é ß ж")
    for picture in taps_pictures().values():
        assert all(covered(line) for node in picture.nodes for line in node_lines(node, True))
        assert legend_rows(picture)


@given(case=random_loops())
@settings(max_examples=10)
def test_the_lines_of_a_node_fit_into_it(case):
    for picture in pictures_of(case):
        boxes = layered(picture, True).boxes
        for node in picture.nodes:
            for place, line in enumerate(node_lines(node, True)):
                bold = place == 0 and node.kind == "loop"
                assert width(line, LETTER, bold) <= boxes[node.id].width, line


def test_the_layout_estimates_text_widths_well():
    for text in ("dot(x[t-1], W_out)", "non-sequence", "maximum(u.shape[0] - 4, 0)", "2.53 ms · 6%"):
        assert 0.85 < width(text, 1) / text_width(text, 1) < 1.05
