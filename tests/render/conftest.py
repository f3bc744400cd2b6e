"""What tests of drawings share."""

import pytest

from scanviz.render.layout import chain
from tests.render.pictures import draw_here


@pytest.fixture
def engines_here(monkeypatch):
    """Let engines draw in this process; that they are kept apart, ended and replaced is tested in processes of their own."""
    monkeypatch.setattr(chain, "_in_process", draw_here)
