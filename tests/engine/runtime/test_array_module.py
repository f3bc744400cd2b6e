"""The page about backends lists the names of an array module."""

from pathlib import Path

from scanviz.engine.runtime.array_module import ArrayModule

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "program.md"


def test_the_page_about_backends_lists_every_name_of_an_array_module():
    text = {name for name in vars(ArrayModule) if not name.startswith("_")}
    assert text and not {name for name in text if f"`{name}`" not in PAGE.read_text()}
