"""Random numbers by NumPy: the generator, and one file for each group of distributions.

:mod:`~scanviz.engine.ops.draws.philox` makes words of a key and a counter, :mod:`~scanviz.engine.ops.draws.unit_interval` makes
numbers between 0 and 1 of words, and the other files draw from these, or by the formulas of :mod:`scanviz.engine.ops.formulas`.
The operations are declared in :mod:`scanviz.engine.ops.random`.
"""
