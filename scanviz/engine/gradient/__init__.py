"""Derivatives of graphs: reverse mode, forward mode, and the rule of every operation, loops included.

Read :mod:`~scanviz.engine.gradient.sweeps.reverse` first (cotangents from the outputs to the inputs), then
:mod:`~scanviz.engine.gradient.table` (what a rule is) and :mod:`~scanviz.engine.gradient.loop` (the rule of a loop, which is again
a loop).  Files named like families of operations hold their rules.
"""
