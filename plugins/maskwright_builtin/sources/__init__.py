"""Built-in sources: XML, CSV, Parquet and databases."""

from __future__ import annotations

from maskwright_builtin.sources.csv.source import CSV
from maskwright_builtin.sources.parquet import PARQUET
from maskwright_builtin.sources.sql.postgresql import POSTGRESQL
from maskwright_builtin.sources.sql.source import SQL
from maskwright_builtin.sources.xml.source import XML

SOURCES = (XML, CSV, PARQUET, SQL, POSTGRESQL)
