"""Programs: linear lists of instructions over numbered registers, and plans of their memory.

Read :mod:`~scanviz.engine.program.instructions` first, then :mod:`~scanviz.engine.program.lower` (from a graph to a Program) and
:mod:`scanviz.engine.program.plan` (where every register lives).  Analyses that plans and backends ask stand beside them:
lifetimes, ownership, shapes, axes, work.  ``scanviz program SCRIPT`` prints one.
"""
