"""Native code of operations, by families: elementwise formulas, draws, reductions, products, indices, factorisations."""
