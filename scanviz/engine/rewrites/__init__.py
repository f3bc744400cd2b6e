"""Rewrites of graphs: rules, the pipeline that applies them, and the history that shows each one before and after.

:mod:`~scanviz.engine.rewrites.rule` defines rules, :mod:`~scanviz.engine.rewrites.pipeline` applies them, and
:mod:`~scanviz.engine.rewrites.history` keeps the applications.  Each other file holds a family of rules.
"""
