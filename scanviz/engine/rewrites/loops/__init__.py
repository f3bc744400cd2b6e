"""Rules about loops: moving work out of steps, keeping fewer rows, and merging loops."""
