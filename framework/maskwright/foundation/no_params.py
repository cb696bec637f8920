"""Parameters of what has none."""

from __future__ import annotations

from pydantic import BaseModel


class NoParams(BaseModel, extra="forbid", frozen=True):
    """Parameter model of a plugin without parameters.

    Examples
    --------
    >>> from maskwright import NoParams, find_partition
    >>> find_partition("univariate").params is NoParams
    True
    """
