"""Effects of rewrites, measured on real inputs: values, gradients, time and memory.

It stands above ``function``, whose plans, tiers and histories it reads, and knows nothing of records and scripts: a test, a
notebook and ``scanviz rewrites`` use it alike.
"""
