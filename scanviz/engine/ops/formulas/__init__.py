"""What one element of an elementwise operation is, in the scalar language: by operation, and the longer ones."""
