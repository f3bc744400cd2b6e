"""Rules about single operations: arithmetic, casts, reductions, shapes, constants, and equal nodes."""
