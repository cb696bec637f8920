"""Headers of written files: the time of writing taken out, so that equal releases are equal files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright_builtin.sources.files import disk_trouble

if TYPE_CHECKING:
    from pathlib import Path

SPSS_TIME = (92, b"01 Jan 7000:00:00")
"""Where a ``.sav`` file has its date and time, 9 and 8 bytes."""
STATA_TIME = re.compile(rb"(?<=<timestamp>\x11).{17}(?=</timestamp>)")
SAS_TIME = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")
SAS_CARDS = 640
"""Bytes before the first variable of a transport file."""


def without_time(path: Path) -> None:
    """Replace the time of writing in a file of SPSS, Stata or SAS by the first of 1970."""
    with disk_trouble(path), path.open("r+b") as file:
        start = file.read(SAS_CARDS)
        if start.startswith((b"$FL2", b"$FL3")):
            place, time = SPSS_TIME
            start = start[:place] + time + start[place + len(time) :]
        elif start.startswith(b"<stata_dta>"):
            start = STATA_TIME.sub(b"01 Jan 1970 00:00", start, count=1)
        else:
            start = SAS_TIME.sub(b"01JAN70:00:00:00", start)
        file.seek(0)
        file.write(start)
