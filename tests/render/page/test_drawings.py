"""Pictures come into the page as shapes and text alone."""

from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.render.page.drawings import ATTRIBUTES, TAGS, inline_svg

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<image href="http://example.org/x.png"/>',
        '<use xlink:href="http://example.org/x.svg#a"/>',
        "<foreignObject><b>b</b></foreignObject>",
        "<style>@import url(http://example.org)</style>",
        '<rect onclick="alert(1)" style="background:url(http://example.org)" width="3"/>',
        '<rect fill="url(http://example.org/#a)"/>',
        '<rect fill="URL( http://example.org/#a)"/>',
        '<a xlink:href="javascript:alert(1)"><rect width="1"/></a>',
        "<animate attributeName='href' values='javascript:alert(1)'/>",
        "<!-- comment --><?xml-stylesheet href='http://example.org'?>",
    ],
)
def test_nothing_that_runs_or_fetches_is_let_in(inside):
    found = inline_svg(SVG.format(inside))
    for word in ("script", "example.org", "onclick", "href", "style", "foreign", "animate", "comment"):
        assert word not in found


def test_shapes_text_and_references_within_the_picture_stay():
    inside = '<g id="n1" class="node"><title>a &lt; b</title><path d="M0 0L1 1" fill="url(#heat)" marker-end="url(#arrow)"></path></g>'
    assert inline_svg(SVG.format(inside)) == f'<svg viewBox="0 0 10 10">{inside}</svg>'


@pytest.mark.parametrize(
    "markup", ["", "no picture", "<html></html>", "<svg><g></svg>", '<!DOCTYPE svg [<!ENTITY a "b">]><svg/>']
)
def test_what_is_no_picture_is_refused(markup):
    with pytest.raises(ValueError, match="the picture is no SVG"):
        inline_svg(markup)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=20).filter(
    lambda text: not any(ord(each) in (0xFFFE, 0xFFFF) for each in text)
)


@given(label=NAMES, identity=NAMES)
def test_any_name_comes_out_as_text(label, identity):
    from html.parser import HTMLParser

    found = inline_svg(SVG.format(f"<g id={quoteattr(identity)}><text>{escape(label)}</text></g>"))
    tags, texts, ids = [], [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append(tag)
            ids.extend(value for name, value in attrs if name == "id")
            assert {name.lower() for name, _ in attrs} <= {attribute.lower() for attribute in ATTRIBUTES}

        def handle_data(self, data):
            texts.append(data)

    reader = Reader()
    reader.feed(found)
    reader.close()
    assert tags == ["svg", "g", "text"] and set(tags) <= TAGS
    assert "".join(texts) == label and ids == [identity]
