"""Films of rewriting: a picture a rewrite, in which every node keeps its place; as SVG, as a page with a scrubber, as GIF."""
