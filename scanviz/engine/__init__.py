"""The loop engine: graphs, operations, scan, programs and the backends that run them.

The engine knows nothing of the profiler, the pictures or the terminal: it notifies observers through
:mod:`scanviz.engine.observe`, and all views are made from records.
"""
