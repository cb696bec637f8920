"""Addresses of object stores and other file systems: which are read, and what none of them may hold."""

from __future__ import annotations

import re

from maskwright.foundation.errors import Problem

STORES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs",
          "hdfs": "pyarrow", "memory": ""}  # fmt: skip
"""Protocols, and the package that knows each."""
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(//?)(.*)", re.DOTALL)
USER = re.compile(r"[^/]*@")
OPTION = re.compile(r"\?[^/]*=")
"""Behind an address: what a signed one ends with."""


def is_remote(place: str) -> bool:
    """Whether a name is an address of a file system that is asked: ``s3://bucket/census/*.parquet``."""
    found = ADDRESS.match(place)
    return found is not None and found[1].lower() in STORES


def address_of(place: str) -> str:
    """Address with both slashes, of which a path keeps one; of ``file://``, the path."""
    found = ADDRESS.match(place)
    if found is not None and found[1].lower() == "file":
        return "/" + found[3].lstrip("/")
    return place if found is None or not is_remote(place) else f"{found[1].lower()}://{found[3].lstrip('/')}"


def refuse_address(place: str) -> Problem | None:
    """What is wrong with an address; None: nothing, as far as it tells."""
    found = ADDRESS.match(place)
    if found is None:
        return None
    if found[1].lower() in ("http", "https", "ftp", "sftp", "ssh"):
        hint = "Download the files, or name an object store: s3://, gs://, abfs://."
        return Problem("nothing is read from web addresses", hint=hint)
    names_user = USER.match(found[3]) and not found[1].lower().startswith("abfs")  # which names a container so
    if is_remote(place) and (names_user or OPTION.search(found[3])):
        hint = "Its key stands in the configuration of the object store (environment, profile), never in an address."
        return Problem("an address of an object store holds no user, password or option", hint=hint)
    return None
