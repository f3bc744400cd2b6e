"""What the rule of a loop is made of: its adjoint taps, the rows it reads and writes, what it needs of the forward steps.

:mod:`scanviz.engine.gradient.loop` is the rule, and the file to read first.
"""
