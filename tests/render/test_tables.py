"""A loop's mappings and its connections as SVG: every entry is there once, in its column, with a line where a map leads."""

import re

import pytest

from scanviz.render.colours import LOOP_KINDS, darkened
from scanviz.render.diagram.connections import connection_matrix
from scanviz.render.diagram.mappings import COLUMNS, HEADINGS, mappings_table
from scanviz.render.tables import connections_svg, mappings_svg
from tests.render.diagram.graphs import run_of_several_taps
from tests.render.pictures import texts_of, xml_of


@pytest.fixture(scope="module")
def loops():
    return run_of_several_taps().loops


def test_mappings_are_four_coloured_columns_joined_by_lines(loops):
    for loop in loops:
        table = mappings_table(loop)
        svg = mappings_svg(table)
        texts = texts_of(svg)
        assert all(heading in texts for heading in HEADINGS)
        for column in COLUMNS:
            for entry in table.entries(column):
                assert any(text.startswith(f"{entry.index}: {entry.label[:20]}") for text in texts)
                assert entry.kind not in LOOP_KINDS or LOOP_KINDS[entry.kind].fill in svg
        neighbours = [n for n in table.lines if COLUMNS.index(n.right) - COLUMNS.index(n.left) == 1]
        assert sum(each.tag.endswith("}path") for each in xml_of(svg).iter()) == len(neighbours)


def test_connections_are_a_matrix_with_full_circles(loops):
    for loop in loops:
        matrix = connection_matrix(loop)
        full = sum(each.get("rx") == "7" for each in xml_of(connections_svg(matrix)).iter())
        assert full == sum(map(sum, matrix.cells)) > 0


def test_a_dark_picture_has_no_light_ground(loops):
    svg = darkened(mappings_svg(mappings_table(loops[0])))
    assert 'fill="#0d1117"' in svg and "#ffffff" not in svg and "#1f2328" not in svg


@pytest.mark.parametrize("width", [80, 100, 200])
def test_mappings_in_text_fit_the_width_and_keep_every_entry(loops, width):
    for loop in loops:
        table = mappings_table(loop)
        lines = table.as_text(width).splitlines()
        assert max(map(len, lines)) <= width
        cells = {cell for line in lines for cell in re.findall(r"(?<!\S)(\d+) \S", line)}
        assert {str(entry.index) for column in COLUMNS for entry in table.entries(column)} <= cells
        assert all(any(heading in line for line in lines) for heading in HEADINGS)
    assert mappings_table(loops[0]).as_text(1_000) == mappings_table(loops[0]).as_text()
