"""Pictures of the documents that are put together from others."""

import re
from pathlib import Path

import pytest

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "scanviz.svg"


@pytest.mark.skipif(not PICTURE.exists(), reason="without the documents")
def test_no_frame_of_the_moving_picture_is_coloured_by_the_style_of_another():
    styles = re.findall(r"(\.t\d*-r\d+) \{", PICTURE.read_text("utf-8"))
    assert len(styles) > 20 and len(set(styles)) == len(styles)
