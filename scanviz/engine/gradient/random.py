"""Derivatives of the family random."""
