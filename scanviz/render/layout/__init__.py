"""Layout engines, each the fallback of the one before.

Graphviz ``dot``, then scanviz's own layout, each in a process of its own.  Should even the second fail, nodes stand in plain rows:
a picture always comes out, and says which engine drew it.
"""

from scanviz.render.layout.chain import ENGINES, FORMATS, CannotDrawError, Drawing, drawn

__all__ = ["ENGINES", "FORMATS", "CannotDrawError", "Drawing", "drawn"]


def __dir__() -> list[str]:
    return sorted(__all__)
