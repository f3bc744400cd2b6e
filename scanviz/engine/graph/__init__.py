"""Graphs: types, nodes, where they came from, and walking, comparing and rebuilding them."""
