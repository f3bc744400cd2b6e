"""Derivatives of the family factorise."""
