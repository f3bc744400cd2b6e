"""What views raise for a user's mistake: they know records, never the engine, whose errors these are."""

from scanviz.engine.errors import ScanvizError, ScanvizTypeError, ScanvizValueError

__all__ = ["ScanvizError", "ScanvizTypeError", "ScanvizValueError"]
