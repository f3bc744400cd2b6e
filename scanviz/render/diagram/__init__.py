"""The loop picture as data, before layout.

``model`` holds the classes, ``build`` makes the picture of a graph, and the other files its variants and exports.  Layout,
Graphviz, SVG, the page and the drawing in characters all read this and nothing else.
"""
