"""Built-in sources: XML, CSV and Parquet."""

from __future__ import annotations

from maskwright_builtin.sources.csv import CSV
from maskwright_builtin.sources.parquet import PARQUET
from maskwright_builtin.sources.xml import XML

SOURCES = (XML, CSV, PARQUET)
