"""The scalar expression language of elementwise operations: what one element is, for every way to compute it."""
