"""Derivatives of the family linalg."""
