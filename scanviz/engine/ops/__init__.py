"""Operations, one file a family; importing this package declares them all."""
