"""Derivatives of the family neural."""
