"""The files that rules are written in; importing this one registers them all."""

from __future__ import annotations

from scanviz.engine.rewrites import barrier, fill, fold, keep, merge, residuals, shape

FILES = (barrier, fill, fold, keep, merge, residuals, shape)
