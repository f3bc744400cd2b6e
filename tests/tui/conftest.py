"""The application's tests need Textual, which is an extra."""

import pytest

textual = pytest.importorskip(
    "textual", reason="the terminal application needs Textual: pip install scanviz[tui]"
)
