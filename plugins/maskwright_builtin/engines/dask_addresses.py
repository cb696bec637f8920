"""Where a Dask scheduler is, and how one may speak to it: encrypted, unless it is on this machine."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from maskwright import InputError, Problem

if TYPE_CHECKING:
    from maskwright_builtin.engines.dask_params import DaskParams


class TlsFiles(BaseModel, extra="forbid", frozen=True):
    """Files of keys in the format PEM, as Dask's own settings name them."""

    ca: Path = Field(description="Certificate of the authority that has signed those of scheduler and workers.")
    cert: Path = Field(description="Certificate of whoever runs the pipeline.")
    key: Path = Field(description="Its private key.")


def address_of(params: DaskParams) -> str | None:
    """Address of the scheduler that is named, directly or by its file; None: one of our own is started."""
    if params.address is not None and params.scheduler_file is not None:
        raise InputError("execution: 'address' and 'scheduler_file' both say where the scheduler is; name one")
    address = params.address if params.scheduler_file is None else _in_file(params.scheduler_file)
    if address is None:
        return None
    protocol, _, where = address.partition("://")
    if protocol == "tls" or (protocol == "tcp" and _is_here(where)):
        return address
    hint = (
        "A scheduler does whatever it is sent. Start it with --tls-ca-file, --tls-cert and --tls-key, and give its "
        "address as tls://HOST:PORT with `tls: {ca: FILE, cert: FILE, key: FILE}`, or Dask's own settings."
    )
    raise InputError(Problem(f"the address {address!r} is not encrypted, and not on this machine", hint=hint))


def security_of(params: DaskParams) -> Any:
    """How Dask is to encrypt: with the files that are named, or as its own settings say."""
    from distributed import Security

    if params.tls is None:
        own: Any = Security()
        if (address_of(params) or "").startswith("tls://") and not (own.tls_ca_file and own.tls_client_cert):
            hint = (
                "execution: {tls: {ca: FILE, cert: FILE, key: FILE}}; or distributed.comm.tls in Dask's own settings."
            )
            raise InputError(
                Problem("a tls:// address needs keys, and neither the pipeline nor Dask names any", hint=hint)
            )
        return own
    for name, path in params.tls:
        if not path.is_file():
            raise InputError(f"tls: there is no file {str(path)!r} (key {name!r})")
    return Security(
        tls_ca_file=str(params.tls.ca), tls_client_cert=str(params.tls.cert), tls_client_key=str(params.tls.key),
        require_encryption=True,
    )  # fmt: skip


def security_here() -> Any:
    """How a scheduler of our own and its workers speak: with keys that are made for them, where that can be done.

    Every user of a machine can reach the ports of all others.
    """
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError:  # without the package cryptography
        return Security(require_encryption=False)


def _in_file(path: Path) -> str:
    try:
        return str(json.loads(path.read_bytes())["address"])
    except FileNotFoundError:
        hint = "`dask scheduler --scheduler-file FILE` writes it when it starts."
        raise InputError(Problem(f"there is no scheduler file {str(path)!r}", hint=hint)) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{str(path)!r} is no file that a Dask scheduler has written") from None


def _is_here(where: str) -> bool:
    host = where.rsplit(":", 1)[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
