"""The page of a film in a real browser: the scrubber, keys and the button show its frames, with no error and no request."""

from scanviz.render.film.drawing import film_file, laid_out
from scanviz.render.film.frames import film_of
from tests.render.diagram.graphs import history, several_taps
from tests.render.page.browser import Browser, required


def test_keys_and_the_scrubber_go_through_the_frames(tmp_path):
    required()
    film = film_of(history(several_taps()), "grad_of_rnn")
    path = tmp_path / "film.html"
    path.write_bytes(film_file(laid_out(film), "html"))
    count = len(film.frames)
    with Browser((1280, 900)) as browser:
        browser.open(path)
        shown = "document.querySelector('output').textContent"
        caption = "[...document.querySelectorAll('[data-seen] text')].filter(e => e.parentElement.style.opacity == 1)"
        assert browser.evaluate(shown) == f"1 of {count}"
        browser.press("ArrowRight")
        assert browser.evaluate(shown) == f"2 of {count}"
        assert film.frames[1].caption in browser.evaluate(f"{caption}.map(e => e.textContent)")
        browser.press("End")
        assert browser.evaluate(shown) == f"{count} of {count}"
        browser.evaluate(
            "(r => { r.value = 0; r.dispatchEvent(new Event('input')); })(document.querySelector('input'))"
        )
        assert browser.evaluate(shown) == f"1 of {count}"
        assert not browser.problems()
        assert all(url.startswith("file:") for url in browser.requests())
