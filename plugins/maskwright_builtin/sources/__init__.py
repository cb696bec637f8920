"""Built-in sources: XML, CSV, Parquet, Excel, fixed width, databases, and files of SPSS, Stata and SAS."""

from __future__ import annotations

from maskwright import Deferred

SOURCES = (
    Deferred(
        "csv",
        f"{__name__}.csv.source:CSV",
        (
            ".csv",
            ".csv.gz",
            ".csv.zip",
            ".csv.zst",
            ".tsv",
            ".tsv.gz",
            ".tsv.zip",
            ".tsv.zst",
            ".txt",
            ".txt.gz",
            ".txt.zip",
            ".txt.zst",
        ),
    ),
    Deferred("excel", f"{__name__}.excel.source:EXCEL", (".xlsx",)),
    Deferred(
        "fixed_width",
        f"{__name__}.fixed_width.source:FIXED_WIDTH",
        (
            ".fwf",
            ".fwf.gz",
            ".fwf.zip",
            ".fwf.zst",
            ".asc",
            ".asc.gz",
            ".asc.zip",
            ".asc.zst",
            ".dat",
            ".dat.gz",
            ".dat.zip",
            ".dat.zst",
        ),
    ),
    Deferred("parquet", f"{__name__}.parquet:PARQUET", (".parquet", ".pq")),
    Deferred("postgresql", f"{__name__}.sql.postgresql:POSTGRESQL"),
    Deferred("sas", f"{__name__}.statistical.sas:SAS", (".sas7bdat",)),
    Deferred("sas_transport", f"{__name__}.statistical.sas:SAS_TRANSPORT", (".xpt",)),
    Deferred("spss", f"{__name__}.statistical.spss:SPSS", (".sav", ".zsav")),
    Deferred("spss_portable", f"{__name__}.statistical.spss:SPSS_PORTABLE", (".por",)),
    Deferred("sql", f"{__name__}.sql.source:SQL", (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")),
    Deferred("stata", f"{__name__}.statistical.stata:STATA", (".dta",)),
    Deferred("xml", f"{__name__}.xml.source:XML", (".xml", ".xml.gz", ".xml.zip", ".xml.zst")),
)
