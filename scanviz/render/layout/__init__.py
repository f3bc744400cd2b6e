"""Layout: where everything of a picture stands and how lines run, from top to bottom or, of steps, from left to right."""
