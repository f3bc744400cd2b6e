"""Values of loops over time as records, and where the first NaN or infinity came from."""
