"""Formulas of one element in the scalar language: of elementwise operations and random draws."""
