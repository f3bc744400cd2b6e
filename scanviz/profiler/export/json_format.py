"""The record itself as JSON, which ``docs/reference/profile-format.md`` describes."""

from __future__ import annotations

import json

from scanviz.record.model import ProfileRecord


def export(record: ProfileRecord) -> dict[str, bytes]:
    """Return the record."""
    return {"": json.dumps(record.to_json(), allow_nan=False).encode() + b"\n"}
