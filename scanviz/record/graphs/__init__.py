"""Graphs as records: one form for all versions of a graph, and what each rewrite did."""
