"""The day of the build."""

from __future__ import annotations

import datetime
import os


def today() -> str:
    """Today in UTC as ``2026-11-29``, or the day of ``SOURCE_DATE_EPOCH``."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = (
        datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        if epoch
        else datetime.datetime.now(datetime.UTC)
    )
    return now.date().isoformat()
