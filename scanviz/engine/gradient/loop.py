"""Derivatives of loops: back-propagation through time, and tangents carried along."""
