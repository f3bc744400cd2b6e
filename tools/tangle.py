"""Write docs/miniscan.py: the blocks of docs/miniscan.md that define something, one behind the other.

    python tools/tangle.py

Blocks that print are the page's examples, and stay there.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def tangled(page: str) -> str:
    """Return the program that a page is about."""
    blocks = [block for block in BLOCK.findall(page) if "print(" not in block]
    return "\n\n".join(blocks)


if __name__ == "__main__":
    (DOCS / "miniscan.py").write_text(tangled((DOCS / "miniscan.md").read_text("utf-8")), "utf-8")
