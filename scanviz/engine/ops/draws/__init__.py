"""Random numbers by NumPy and as formulas: the generator, and one file a group of distributions.

:mod:`~scanviz.engine.ops.draws.philox` makes words of a key and a counter, :mod:`~scanviz.engine.ops.draws.unit_interval` numbers
between 0 and 1 of words, and the files named like distributions draw from them.  Those named ``formulas`` say the same in the
scalar language, for machine code.  The operations are declared in :mod:`scanviz.engine.ops.random`.
"""
