"""Programs as generated Python that calls an array library, shared by NumPy and CuPy.

A library says how one instruction is written and where arrays come from (:class:`~scanviz.engine.backends.source.emitter.Library`);
names, loops, stamps and what a plan wants of memory are written here, once.
"""
