"""Derivatives of the family join."""
