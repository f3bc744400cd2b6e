"""Arrays of a profile as ``.npy`` bytes: written by NumPy, read without evaluating anything.

NumPy's own reader takes the header for Python source, which is what a stranger may have written.  Ours is compared with the one
form that NumPy writes for an array of version 1.0, in C order, of two dimensions and a plain number; all else is refused.
"""

from __future__ import annotations

import io
import re
import struct
from typing import Any

import numpy as np

from scanviz.record.errors import ScanvizValueError

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^'\\]{1,20})', 'fortran_order': (False|True), 'shape': (\([\d, ]{0,60}\)), \} *\n"
)
_SHAPE = re.compile(rb"\((\d{1,18}), (\d{1,18})\)")


def packed(rows: np.ndarray[Any, Any], dtype: str) -> bytes:
    """Return an array as ``.npy`` bytes of version 1.0."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(rows, dtype), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def unpacked(data: bytes, entry: str, kind: str, columns: int | None) -> np.ndarray[Any, Any]:
    """Return the rows in ``.npy`` bytes from anybody.

    Parameters
    ----------
    data : bytes
        The file.
    entry : str
        What to call it.
    kind : str
        The dtype that it must have, such as ``"<f8"``.
    columns : int, optional
        How many columns it must have; None for any number.

    Raises
    ------
    ScanvizValueError
        If it is anything but a plain array of that dtype and number of columns.

    Examples
    --------
    >>> unpacked(packed(np.eye(2), "<f8"), "values/0.npy", "<f8", 2)
    array([[1., 0.],
           [0., 1.]])
    """
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 2:
        raise ScanvizValueError(f"{entry} in the profile is no array of version 1.0")
    (length,) = struct.unpack_from("<H", data, len(_MAGIC))
    start = len(_MAGIC) + 2 + length
    header = _HEADER.fullmatch(data, len(_MAGIC) + 2, start)
    if header is None or start > len(data):
        raise ScanvizValueError(f"{entry} in the profile has a header that NumPy does not write")
    dtype, columns_first, shape = header.groups()
    sizes = _SHAPE.fullmatch(shape)
    wanted = np.dtype(kind)
    right = dtype == kind.encode() and columns_first == b"False" and sizes is not None
    rows, width = map(int, sizes.groups()) if sizes is not None else (0, 0)
    if not right or (columns is not None and width != columns):
        raise ScanvizValueError(
            f"{entry} in the profile has the wrong form",
            expected=f"{wanted.name} of shape (n, {columns if columns is not None else 'm'})",
            found=f"{dtype.decode('latin-1')!a} of shape {shape.decode('ascii')}",
        )
    if len(data) - start != wanted.itemsize * rows * width:
        raise ScanvizValueError(f"{entry} in the profile is cut off or too long")
    read = np.frombuffer(data, wanted, offset=start)
    return read.astype(wanted.newbyteorder("=")).reshape(rows, width)
