"""Running Programs, whatever the tier: rows of a loop, its driver, who is told what, errors in the user's words.

Read :mod:`~scanviz.engine.runtime.calling` first (how the code of a loop is called), then :mod:`~scanviz.engine.runtime.driver`
(who calls it, in chunks of steps) and :mod:`~scanviz.engine.runtime.rows`.  Backends write the code, and find everything else
here.
"""
