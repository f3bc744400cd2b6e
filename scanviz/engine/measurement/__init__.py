"""What the rewrites of a function do to it: its values and gradients compared, its time and memory measured, on real inputs.

It stands above ``function``, whose plans, tiers and histories it reads, and knows nothing of records and scripts: a test, a
notebook and ``scanviz rewrites`` use it alike.
"""
