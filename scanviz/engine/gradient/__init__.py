"""Derivatives of graphs: reverse mode, forward mode, and the rule of every operation, loops included."""
