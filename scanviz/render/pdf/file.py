"""A PDF's objects and their table (ISO 32000-1, section 7.5), numbered in the order in which they are made; and the font in it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from scanviz.render.fonts import Face


def number(value: float) -> str:
    """Return a number as a PDF writes it: no exponent, no more digits than are seen.

    Examples
    --------
    >>> number(12.0), number(1 / 3), number(-0.00001)
    ('12', '0.333', '0')
    """
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def said(*words: float | str) -> str:
    """Return an operator with what stands before it.

    Examples
    --------
    >>> said(1, 0.5, "m")
    '1 0.5 m'
    """
    return " ".join(word if isinstance(word, str) else number(word) for word in words)


@dataclass(slots=True)
class File:
    """The objects of a PDF in the making; the first is number 1."""

    objects: list[bytes] = field(default_factory=list)

    def reserved(self) -> int:
        """Return the number of an object that is filled later."""
        self.objects.append(b"")
        return len(self.objects)

    def fill(self, place: int, content: str) -> None:
        """Say what an object is."""
        self.objects[place - 1] = content.encode("latin-1")

    def object(self, content: str) -> int:
        """Add an object and return its number."""
        place = self.reserved()
        self.fill(place, content)
        return place

    def stream(self, entries: str, data: bytes) -> int:
        """Add data, packed, with more ``entries`` of its dictionary."""
        packed = zlib.compress(data, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode {entries} >>\nstream\n".encode("ascii")
        self.objects.append(head + packed + b"\nendstream")
        return len(self.objects)

    def data(self, catalogue: int) -> bytes:
        """Return the file."""
        parts = [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"]  # bytes above 127 say that it is no text
        places = []
        at = len(parts[0])
        for place, content in enumerate(self.objects, 1):
            places.append(at)
            parts.append(b"%d 0 obj\n%s\nendobj\n" % (place, content))
            at += len(parts[-1])
        rows = b"".join(b"%010d 00000 n \n" % place for place in places)
        size = len(places) + 1
        parts.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, rows))
        parts.append(
            b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, catalogue, at)
        )
        return b"".join(parts)


_AT_ONCE = 100  # entries that one block of a table of characters may have


def embedded(file: File, face: Face, letters: set[str]) -> int:
    """Put a face into a PDF and return the number of the font (ISO 32000-1, section 9.7: glyphs are named by number)."""
    data = file.stream(f"/Length1 {len(face.data)}", face.data)
    scale = 1000 / face.units
    box = " ".join(f"{bound * scale:.0f}" for bound in face.box)
    described = file.object(
        f"<< /Type /FontDescriptor /FontName /{face.name} /Flags 4 /FontBBox [{box}] /ItalicAngle 0"
        f" /Ascent {face.ascent * scale:.0f} /Descent {face.descent * scale:.0f} /CapHeight 730 /StemV 80"
        f" /FontFile2 {data} 0 R >>"
    )
    used = {
        face.glyph(letter): letter if ord(letter) in face.glyphs else "\N{REPLACEMENT CHARACTER}"
        for letter in letters
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
