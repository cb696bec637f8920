"""How much memory there is: that of the machine, or what the process is given of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from maskwright.foundation.nearest_names import nearest_name

_GIVEN = Path("/sys/fs/cgroup/memory.max")
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_AMOUNT = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?) ?(?P<unit>[A-Za-z]+)")


def memory() -> int | None:
    """Bytes that this process may use; None where the system does not say."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None
    try:
        given = _GIVEN.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return machine
    return min(machine, int(given)) if given.isdecimal() else machine


def bytes_of(amount: str) -> int:
    """Bytes that a text such as ``4GB`` says.

    `amount`: a number and kB, MB, GB or TB (thousands), or KiB, MiB, GiB or TiB.
    """
    found = _AMOUNT.fullmatch(amount.strip())
    if found is None:
        raise ValueError(f"expected a number and a unit, such as 4GB; not {amount!r}")
    if found["unit"] not in _UNITS:
        nearest = nearest_name(found["unit"], tuple(_UNITS))
        meant = "" if nearest is None else f"did you mean {nearest}? "
        raise ValueError(f"unit {found['unit']!r} unknown; {meant}there are {', '.join(_UNITS)}")
    size = int(float(found["number"]) * _UNITS[found["unit"]])
    if size <= 0:
        raise ValueError("expected more than nothing")
    return size
