"""Derivatives of the family sort."""
