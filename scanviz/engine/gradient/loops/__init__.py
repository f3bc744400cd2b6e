"""Parts of a loop's derivative: adjoint taps, connections, residuals, invariants and rows of the forward loop.

:mod:`scanviz.engine.gradient.loop` is the rule, and the file to read first.
"""
