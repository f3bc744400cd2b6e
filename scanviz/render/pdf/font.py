"""The font inside a PDF: the file itself, the widths of the letters that are used, and what they are as text."""

from __future__ import annotations

from scanviz.render.fonts import Face
from scanviz.render.pdf.file import File

_AT_ONCE = 100  # entries that one block of a table of characters may have


def embedded(file: File, face: Face, letters: set[str]) -> int:
    """Put a face into a PDF and return the number of the font (ISO 32000-1, section 9.7: glyphs are named by number)."""
    data = file.stream(f"/Length1 {len(face.data)}", face.data)
    scale = 1000 / face.units
    box = " ".join(f"{each * scale:.0f}" for each in face.box)
    described = file.object(
        f"<< /Type /FontDescriptor /FontName /{face.name} /Flags 4 /FontBBox [{box}] /ItalicAngle 0"
        f" /Ascent {face.ascent * scale:.0f} /Descent {face.descent * scale:.0f} /CapHeight 730 /StemV 80"
        f" /FontFile2 {data} 0 R >>"
    )
    used = {
        face.glyph(each): each if ord(each) in face.glyphs else "\N{REPLACEMENT CHARACTER}"
        for each in letters
    }
    widths = " ".join(f"{glyph} [{face.widths[glyph] * scale:.0f}]" for glyph in sorted(used))
    glyphs = file.object(
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{face.name} /FontDescriptor {described} 0 R"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
        f" /CIDToGIDMap /Identity /W [{widths}] >>"
    )
    text = file.stream("", _as_text(used).encode("ascii"))
    return file.object(
        f"<< /Type /Font /Subtype /Type0 /BaseFont /{face.name} /Encoding /Identity-H"
        f" /DescendantFonts [{glyphs} 0 R] /ToUnicode {text} 0 R >>"
    )


def _as_text(used: dict[int, str]) -> str:
    """Return the table by which a reader finds and copies text."""
    rows = [
        f"<{glyph:04X}> <{letter.encode('utf-16-be', 'surrogatepass').hex()}>"
        for glyph, letter in sorted(used.items())
    ]
    blocks = [rows[k : k + _AT_ONCE] for k in range(0, len(rows), _AT_ONCE)]
    lines = [
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
        "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
        "1 begincodespacerange <0000> <FFFF> endcodespacerange",
    ]
    for block in blocks:
        lines += [f"{len(block)} beginbfchar", *block, "endbfchar"]
    return "\n".join([*lines, "endcmap CMapName currentdict /CMap defineresource pop end end"])
