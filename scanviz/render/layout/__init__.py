"""Layout of pictures: positions of nodes and edges, from top to bottom or, for steps, from left to right."""
