"""Dark colours: one for each light one in every format, and letters legible on all of them."""

import pytest

from scanviz.render import colours
from scanviz.render.colours import DARK_INK, HEAT, LOOP_KINDS, NODE_KINDS, dark_pairs, darkened, style_sheet
from scanviz.render.engines import drawn
from tests.render.pictures import contrast, taps_pictures
from tests.render.test_layout import needs


def test_each_light_colour_has_one_dark_colour_everywhere():
    found = {}
    for light, dark in dark_pairs():
        assert found.setdefault(light, dark) == dark, light
    assert not found.keys() & set(found.values()), "what is dark already stays as it is"


def test_a_picture_turned_dark_has_the_colours_of_its_style_sheet():
    for light, dark in dark_pairs():
        assert darkened(f'<rect fill="{light}"/>') == f'<rect fill="{dark}"/>'
        assert f'[fill="{light}"]{{fill:{dark}}}' in style_sheet()


def test_letters_are_read_on_everything_in_the_dark():
    dark = colours.dark_colours()
    fills = [paint.fill for paint in (*NODE_KINDS.values(), *LOOP_KINDS.values())] + list(HEAT)
    for fill in fills:
        assert contrast(DARK_INK, dark[fill]) > 4.5, fill


@pytest.mark.parametrize("engine", ["own", "dot"])
def test_pictures_of_every_engine_follow_the_readers_dark_mode(engine):
    needs(engine)
    picture = taps_pictures()["closed"]
    svg = drawn(picture, engine=engine, seconds=60).text
    assert f"<style>{style_sheet()}</style>" in svg
