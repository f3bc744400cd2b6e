"""Graphs as records: one form for all versions of a graph, and the effect of each rewrite."""
