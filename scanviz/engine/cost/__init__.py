"""What operations, steps and graphs cost: the one model that rewrites, the choice of a tier, the roofline and views ask.

:mod:`~scanviz.engine.cost.flops` counts the operations of a declaration, :mod:`~scanviz.engine.cost.totals` adds costs up in named
sizes, :mod:`~scanviz.engine.cost.work` is what one application of an instruction does in numbers.  A graph is gone through by
:mod:`scanviz.engine.rewrites.cost`, a Program by :mod:`scanviz.engine.program.work`.
"""
