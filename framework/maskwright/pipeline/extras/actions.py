"""What is done with the files of a release: check sums to pass on with them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from maskwright.foundation.errors import InputError
from maskwright.pipeline.extras.extra import Extra

if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK = 1 << 20


class ChecksumsParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the check sums."""

    file: str = Field(
        default="SHA256SUMS", min_length=1, pattern=r"^[^/\\]+$",
        description="Name of the file, in the folder of the masked data; an older one is replaced.",
    )  # fmt: skip


def write_checksums(outputs: Mapping[str, Path], _: Mapping[str, Any], params: ChecksumsParams) -> str:
    """Write the SHA-256 of every released file, as ``sha256sum --check`` reads them."""
    data = next(path for key, path in outputs.items() if key == "data" or key.startswith("data."))
    target = data.parent / params.file
    if target in outputs.values():
        raise InputError(f"{params.file} is the name of a file that was released: name another for the check sums")
    lines = [f"{_sha256(path)}  {os.path.relpath(path, data.parent)}\n" for path in sorted(outputs.values())]
    descriptor, name = tempfile.mkstemp(dir=data.parent, prefix=f".{params.file}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return f"{len(lines)} check sums in {params.file}"


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found.update(chunk)
    return found.hexdigest()


CHECKSUMS = Extra(
    name="checksums",
    work=write_checksums,
    params=ChecksumsParams,
    summary="Writes the SHA-256 of every released file beside the masked data, as sha256sum --check reads them.",
)

ACTIONS: Mapping[str, Extra] = {each.name: each for each in (CHECKSUMS,)}
"""By the name that the list ``after:`` of a pipeline gives."""
