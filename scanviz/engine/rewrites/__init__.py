"""Rewrites of graphs: rules, the pipeline that applies them, and the history that shows each one before and after.

:mod:`~scanviz.engine.rewrites.rule` says what a rule is, :mod:`~scanviz.engine.rewrites.pipeline` how rules are applied,
:mod:`~scanviz.engine.rewrites.history` what is kept of it.  Each other file holds a family of rules.
"""
