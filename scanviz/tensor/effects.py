"""What prints and checks values while a function runs: ``T.Print`` and ``T.Assert``."""

from scanviz.engine.ops.effects import Assert, Print

__all__ = ["Assert", "Print"]
