"""Scripts that get advice, one a kind: as first written, and after following the advice."""
