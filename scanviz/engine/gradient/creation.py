"""Derivatives of the family creation."""
