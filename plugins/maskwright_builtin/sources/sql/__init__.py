"""Tables of databases: DuckDB and SQLite files, and tables of a PostgreSQL server."""
