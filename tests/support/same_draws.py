"""Draws of Hypothesis that depend on the seed alone: importing this module lets them.

Hypothesis also draws constants that it finds in the modules imported so far.  Which these are depends on the tests that the process
ran before, so that one seed drew other examples in each run.
"""

from hypothesis.internal.conjecture import providers

providers._get_local_constants = lambda: providers._local_constants  # none: no module was looked through
