"""Writes scanviz/render/fonts: the letters of pictures on machines that have none.

    pip install fonttools
    python tools/make_font.py /usr/share/fonts/truetype/dejavu      # Debian's package fonts-dejavu-core

The fonts are DejaVu Sans Condensed 2.37, regular and bold, cut down to the characters of ``RANGES`` and without hints and kerning.
They are named anew: what is no longer the whole font must not be taken for it by a machine that has both.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

FAMILY = "scanviz Sans"
TARGET = Path(__file__).resolve().parents[1] / "scanviz" / "render" / "fonts"
FACES = {
    "scanviz-sans.ttf": ("DejaVuSansCondensed.ttf", "Regular"),
    "scanviz-sans-bold.ttf": ("DejaVuSansCondensed-Bold.ttf", "Bold"),
}
RANGES = (
    (0x20, 0x7E),  # Latin, with the letters of Europe's languages
    (0xA0, 0x24F),
    (0x1E00, 0x1EFF),
    (0x300, 0x30C),  # accents that stand alone
    (0x370, 0x3FF),  # Greek
    (0x400, 0x45F),  # Cyrillic
    (0x2010, 0x2027),  # dashes, quotation marks, dots
    (0x2030, 0x203A),
    (0x1D62, 0x1D6A),  # indices and exponents
    (0x2070, 0x209C),
    (0x2100, 0x214F),  # ℝ and the like
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # operators
    (0x2500, 0x25FF),  # lines, blocks and shapes
    (0x27F5, 0x27FF),  # long arrows
    (0xFFFD, 0xFFFD),  # what stands for a character that is not known
)
COPYRIGHT, STYLED, STYLE, UNIQUE, FULL, VERSION, POSTSCRIPT, LICENCE = 0, 1, 2, 3, 4, 5, 6, 13
DROPPED = ["FFTM", "GDEF", "GPOS", "GSUB", "kern", "MATH"]


def main(folder: Path) -> None:
    """Cut both faces."""
    TARGET.mkdir(exist_ok=True)
    for name, (source, style) in FACES.items():
        font = TTFont(folder / source, recalcTimestamp=False)
        licence = str(font["name"].getDebugName(LICENCE))
        _cut(font)
        _name(font, style)
        font.save(TARGET / name)
        print(f"{name}: {len(font.getBestCmap())} characters, {(TARGET / name).stat().st_size} bytes")
    lines = (line.rstrip() for line in licence.splitlines())
    (TARGET / "LICENSE").write_text("\n".join([*lines, ""]), "utf-8")


def _cut(font: TTFont) -> None:
    options = subset.Options(
        hinting=False, layout_features=[], notdef_outline=True, drop_tables=DROPPED, name_IDs=["*"]
    )
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    cutter.subset(font)


def _name(font: TTFont, style: str) -> None:
    names = font["name"]
    copyright, version = names.getDebugName(COPYRIGHT), names.getDebugName(VERSION)
    names.names = []
    found = {
        COPYRIGHT: f"{copyright}\nA subset of DejaVu Sans Condensed made for scanviz.",
        STYLED: FAMILY,
        STYLE: style,
        UNIQUE: f"{FAMILY} {style}",
        FULL: f"{FAMILY} {style}",
        VERSION: version,
        POSTSCRIPT: f"{FAMILY.replace(' ', '')}-{style}",
        LICENCE: "The licences of Bitstream Vera and Arev, in the file LICENSE beside this one.",
    }
    for number, text in found.items():
        names.setName(text, number, 3, 1, 0x409)
    font["OS/2"].usWidthClass = 5  # it is the family's only width


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
