"""Built-in sources: XML, CSV, Parquet, Excel, fixed width and databases."""

from __future__ import annotations

from maskwright_builtin.sources.csv.source import CSV
from maskwright_builtin.sources.excel.source import EXCEL
from maskwright_builtin.sources.fixed_width.source import FIXED_WIDTH
from maskwright_builtin.sources.parquet import PARQUET
from maskwright_builtin.sources.sql.postgresql import POSTGRESQL
from maskwright_builtin.sources.sql.source import SQL
from maskwright_builtin.sources.xml.source import XML

SOURCES = (XML, CSV, PARQUET, EXCEL, FIXED_WIDTH, SQL, POSTGRESQL)
