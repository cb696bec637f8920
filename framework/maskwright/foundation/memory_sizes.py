"""Sizes of memory as people write them: 4GB, 500MB, 2GiB."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

_SIZE = r"^\d+(\.\d+)? ?([kMGT]i?)?B$"
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"k": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

MemorySize = Annotated[str, Field(pattern=_SIZE)]
"""A field of parameters that is a size of memory: ``4GB``, ``500MB``, ``1.5GiB``, ``800000000B``.

Examples
--------
>>> from pydantic import BaseModel, Field
>>> from maskwright import MemorySize
>>> class Params(BaseModel):
...     memory_limit: MemorySize = Field(default="2GB", description="Of each worker.")
"""


def bytes_of(size: str) -> int:
    """How many bytes a size is.

    Parameters
    ----------
    size : str
        As `MemorySize`.

    Examples
    --------
    >>> from maskwright.foundation.memory_sizes import bytes_of
    >>> bytes_of("1.5GB"), bytes_of("2kiB")
    (1500000000, 2048)
    """
    found = re.fullmatch(r"(?P<number>[\d.]+) ?(?P<unit>[kMGT]?)(?P<binary>i?)B", size)
    assert found is not None
    units = _BINARY_UNITS if found["binary"] else _UNITS
    return int(float(found["number"]) * units[found["unit"]])
