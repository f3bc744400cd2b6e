"""Values of loops over time as records, and the origin of the first NaN or infinity."""
