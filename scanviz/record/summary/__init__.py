"""Conclusions from a record: the run divided into parts, totals, typical and slow steps, limits, and the verdict."""
