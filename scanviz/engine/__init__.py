"""The loop engine: graphs, operations, scan, programs and the backends that run them.

The engine knows nothing of the profiler, the pictures or the terminal: it tells whoever is watching through
:mod:`scanviz.engine.observe`, and everything shown is made from records above it.
"""
