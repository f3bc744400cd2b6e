"""Formulas in the scalar language: of elementwise operations and of random draws."""
