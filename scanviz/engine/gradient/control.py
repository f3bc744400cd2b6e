"""Derivatives of the family control."""
