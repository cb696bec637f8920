"""Engines that come with Maskwright and need a package of their own."""

from __future__ import annotations

from maskwright_builtin.engines.dask_engine import DASK

ENGINES = (DASK,)
