"""Effects of rewrites on real inputs: values and gradients compared, time and memory measured.

It stands above ``function``, whose plans, tiers and histories it reads, and knows nothing of records and scripts: a test, a
notebook and ``scanviz rewrites`` use it alike.
"""
