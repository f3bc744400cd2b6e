"""What a page needs of a picture: letters that are read without a click."""

import re

LEAST = 11.0  # pixels of letters


def assert_readable(svg: str, column: float) -> None:
    """Refuse a picture that its column would shrink, or with letters that are small at its own size.

    Examples
    --------
    >>> assert_readable('<svg width="700" font-size="11"><text>x</text></svg>', 736)
    """
    width = re.search(r'<svg\b[^>]*? width="([\d.]+)"', svg)
    assert width is not None and float(width[1]) <= column, f"{width} in a column of {column} pixels"
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert sizes and min(sizes) >= LEAST, sizes
