"""The page of a stepper in a real browser: keys and buttons go through both loops, with no error and no request."""

import re

import pytest

from scanviz.lessons.exercise import stepper_of
from scanviz.lessons.source import lesson
from scanviz.render.stepper.page import stepper_page
from tests.render.page.browser import Browser, required
from tests.render.stepper.test_stepper import recorded


def test_keys_and_buttons_go_through_the_steps_and_back(tmp_path):
    required()
    path = tmp_path / "stepper.html"
    path.write_text(stepper_page(*recorded()), "utf-8")
    with Browser() as browser:
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True
        )
        browser.open(path)
        shown = "document.querySelector('output').textContent"
        said = "document.querySelector('#said').textContent"
        assert browser.evaluate(shown) == "y: 1 of 3"
        browser.press("ArrowRight")
        assert (
            browser.evaluate(said)
            == "Step 1 reads y[-1] = 1, y[0] = 5 and writes y[1] = a * y[0] + b * y[-1] = 13."
        )
        browser.press("b")
        assert browser.evaluate(shown) == "grad_of_y: 1 of 3"
        assert browser.evaluate(said).startswith(
            "The cost puts 1 in ∂y[2]. The walk goes back over step 2 of y:"
        )
        browser.click("#on")
        assert "adds to ∂y[0]: 3 → 7" in browser.evaluate(said)
        rows = browser.texts("tbody tr")
        assert [re.sub(r"\s+", "", row) for row in rows[1:]] == ["before00321", "after06721"]
        browser.press("End")
        assert browser.evaluate(shown) == "grad_of_y: 3 of 3"
        browser.evaluate(
            "(r => { r.value = 2; r.dispatchEvent(new Event('input')); })(document.querySelector('input'))"
        )
        assert browser.evaluate(shown) == "y: 3 of 3"
        assert '<iframe src="stepper.html" title="y, step by step"' in browser.texts("details code")[0]
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert not browser.problems()
        assert all(url.startswith("file:") for url in browser.requests())


@pytest.mark.parametrize("number", [6, 11])  # short values, and long ones in four buffers
def test_a_frame_of_the_quoted_height_shows_each_step_on_a_phone(tmp_path, number):
    required()
    path = tmp_path / "stepper.html"
    path.write_text(stepper_of(lesson(number)), "utf-8")
    with Browser() as browser:
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=358, height=844, deviceScaleFactor=2, mobile=True
        )
        browser.open(path)
        assert browser.evaluate(
            "places.every((_, k) => (show(k), document.querySelector('#buffers').getBoundingClientRect().bottom <= given.height))"
        )
