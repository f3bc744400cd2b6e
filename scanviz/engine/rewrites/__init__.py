"""Rewrites of graphs; so far the one that every function needs, shapes without values."""
