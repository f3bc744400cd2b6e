"""The same loops in scanviz and its peers: one file a tool, one function a loop, called as ``loop(*sizes)`` for the timed function.

A function is called with the inputs that :mod:`peer_programs.inputs` has for the loop and those sizes, and gives a list of arrays.
A file imports its own tool alone, so that a new process starts with that.
"""
