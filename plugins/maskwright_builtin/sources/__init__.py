"""Built-in sources: XML, CSV, Parquet, Excel, fixed width, databases, and files of SPSS, Stata and SAS."""

from __future__ import annotations

from maskwright_builtin.sources.csv.source import CSV
from maskwright_builtin.sources.excel.source import EXCEL
from maskwright_builtin.sources.fixed_width.source import FIXED_WIDTH
from maskwright_builtin.sources.parquet import PARQUET
from maskwright_builtin.sources.sql.postgresql import POSTGRESQL
from maskwright_builtin.sources.sql.source import SQL
from maskwright_builtin.sources.statistical.sas import SAS, SAS_TRANSPORT
from maskwright_builtin.sources.statistical.spss import SPSS, SPSS_PORTABLE
from maskwright_builtin.sources.statistical.stata import STATA
from maskwright_builtin.sources.xml.source import XML

SOURCES = (
    XML, CSV, PARQUET, EXCEL, FIXED_WIDTH, SQL, POSTGRESQL, SPSS, SPSS_PORTABLE, STATA, SAS, SAS_TRANSPORT,
)  # fmt: skip
