"""Graphs: types, nodes, where they came from, and walking, comparing and rebuilding them.

Read :mod:`~scanviz.engine.graph.nodes` first (variables and the operations between them), then
:mod:`~scanviz.engine.graph.declaration` (what an operation is), :mod:`~scanviz.engine.graph.traversal` and
:mod:`~scanviz.engine.graph.replace`.  Nothing here knows an operation by name, a loop or a number: those are the layers above.
"""
