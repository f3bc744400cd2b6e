"""Drawing a picture: engines in a chain, of which the next takes over where one is not there, fails or takes too long.

``dot`` of Graphviz, then Graphviz as WebAssembly (extra ``wasm``), then the layout of scanviz itself; each in a process of its own.
Should even that one be stopped, nodes stand in plain rows: a picture always comes out, and says who drew it.
"""

from scanviz.render.layout.chain import ENGINES, FORMATS, CannotDrawError, Drawing, drawn

__all__ = ["ENGINES", "FORMATS", "CannotDrawError", "Drawing", "drawn"]


def __dir__() -> list[str]:
    return sorted(__all__)
