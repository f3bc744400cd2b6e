"""What a backend for another array library says stands on the page about backends."""

from pathlib import Path

from scanviz.engine.runtime.array_module import ArrayModule

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "program.md"


def test_all_that_an_array_library_says_stands_on_the_page_about_backends():
    said = {name for name in vars(ArrayModule) if not name.startswith("_")}
    assert said and not {name for name in said if f"`{name}`" not in PAGE.read_text()}
