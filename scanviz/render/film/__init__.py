"""Films of rewriting: a picture a rewrite, in which every node keeps its place; as SVG or as a page with a scrubber."""
