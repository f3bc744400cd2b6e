"""Scripts that advice is given for, one a kind: as one writes them first, and after following what is said."""
