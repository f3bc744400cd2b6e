"""The page: one HTML file with a whole profile in it, without network or server.

``data`` picks the page's contents from a record, ``build`` puts it together with the style and the scripts in ``assets``.
"""

from scanviz.render.page.build import Extras, page

__all__ = ["Extras", "page"]


def __dir__() -> list[str]:
    return sorted(__all__)
