"""Backends: what runs a Program. See :mod:`scanviz.engine.backends.base` for what one must offer."""
