"""Sizes of memory as parameters: 4GB, 500MB, 2GiB."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from maskwright.foundation.processes.memory import bytes_of


def _known(size: str) -> str:
    bytes_of(size)
    return size


MemorySize = Annotated[str, AfterValidator(_known)]
"""A field of parameters that is a size of memory: ``4GB``, ``500MB``, ``1.5GiB``.

Examples
--------
>>> from pydantic import BaseModel, Field
>>> from maskwright import MemorySize
>>> class Params(BaseModel):
...     memory_limit: MemorySize = Field(default="2GB", description="Of each worker.")
"""
