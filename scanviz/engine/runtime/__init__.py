"""Running Programs on any tier: rows of a loop, its driver, observers, errors in the user's words.

Read :mod:`~scanviz.engine.runtime.calling` first (how the code of a loop is called), then :mod:`~scanviz.engine.runtime.driver`
(who calls it, in chunks of steps) and :mod:`~scanviz.engine.runtime.row_storage`.  Backends write the code, and find everything
else here.
"""
