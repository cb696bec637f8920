"""The cluster of the Dask engine: its parameters, its address, and checks of its workers."""

from __future__ import annotations

import functools
import hashlib
import ipaddress
import json
import os
import platform
import uuid
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from maskwright import InputError, MemorySize, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


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


class DaskParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the engine; all else about a cluster is in Dask's own settings."""

    address: str | None = Field(
        default=None,
        min_length=1,
        description="Of a scheduler that runs, such as tls://node1:8786; tcp:// on this machine only. Left out: "
        "workers are started on this machine.",
    )
    scheduler_file: Path | None = Field(
        default=None, description="File that a scheduler has written, in the place of its address."
    )
    tls: TlsFiles | None = Field(
        default=None, description="Files of keys for tls:// addresses. Left out: those of Dask's own settings."
    )
    memory_limit: MemorySize | None = Field(
        default=None,
        description="Memory of each worker that is started on this machine, such as 4GB; one that takes more is "
        "ended. Left out: its share of the machine.",
    )
    other_processors: bool = Field(
        default=False,
        strict=True,
        description="Whether workers may have processors with other instructions than this machine, where results may "
        "differ in their last digits.",
    )
    connect_seconds: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="How long is waited for the scheduler to answer, and for its first worker.",
    )


Packages = tuple[tuple[str, str], ...]
"""Version by distribution, in a form that can be sent and remembered."""


def check_workers(client: Any, packages: Mapping[str, str], scratch: Path) -> None:
    """Refuse workers that would fail, or give other results.

    Only functions of the standard library are called there: Maskwright itself may be what is missing.
    """
    for package, here in packages.items():
        for worker, there in client.run(version, package, on_error="return").items():
            problem = _difference(package, here, there)
            if problem is not None:
                raise InputError(Problem(f"the worker {worker} {problem}", hint=_hint(package, here)))
    nonce = scratch / f".seen-{uuid.uuid4().hex}"
    nonce.touch(mode=0o600)
    try:
        for worker, is_there in client.run(os.access, str(nonce), os.R_OK | os.W_OK, on_error="return").items():
            if is_there is not True:
                hint = "Name a folder that all machines share, and whose owner is the same: execution: {scratch: DIR}."
                raise InputError(Problem(f"the worker {worker} cannot use the folder {scratch}", hint=hint))
    finally:
        nonce.unlink(missing_ok=True)


def processor() -> tuple[str, ...]:
    """What compiled kernels may use of the processor of this process: its kind, and its instructions."""
    binding: Any = import_module("llvmlite.binding")
    config: Any = import_module("numba.core.config")
    if config.CPU_NAME:
        features = [each[1:] for each in str(config.CPU_FEATURES or "").split(",") if each.startswith("+")]
        return (platform.machine(), *sorted(features))
    return (platform.machine(), *sorted(name for name, has in binding.get_host_cpu_features().items() if has))


@functools.cache
def kind_of_processor() -> str:
    """The same for processors with the same instructions."""
    return hashlib.sha256(" ".join(processor()).encode()).hexdigest()[:16]


def check_processors(client: Any) -> None:
    """Refuse workers whose processors have other instructions than this one, which may round otherwise."""
    here = set(processor())
    for worker, there in client.run(processor, on_error="return").items():
        found = set(there) if isinstance(there, tuple) else set()
        if found != here:
            lacks, beyond = sorted(here - found), sorted(found - here)
            pairs = (("lacks", lacks), ("also has", beyond))
            differs = " and ".join(f"{word} {_few(names)}" for word, names in pairs if names)
            hint = (
                "Results may differ in their last digits: take machines of one kind, set NUMBA_CPU_NAME=generic here "
                "and for all workers, or say execution: {other_processors: true}."
            )
            raise InputError(Problem(f"the processor of the worker {worker} {differs}, unlike this one", hint=hint))


def _few(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


@functools.cache
def difference_here(packages: Packages) -> str | None:
    """Say in which package this process differs from the one that sent it work; workers may join late."""
    for package, expected in packages:
        try:
            found: object = version(package)
        except PackageNotFoundError as error:
            found = error
        problem = _difference(package, expected, found)
        if problem is not None:
            return f"{problem}: {_hint(package, expected)}"
    return None


def _difference(package: str, here: str, there: object) -> str | None:
    if there == here:
        return None
    if isinstance(there, str):
        return f"has {package} {there}, and {package} {here} is at work here"
    return f"has no package {package}, and {package} {here} is at work here"


def _hint(package: str, here: str) -> str:
    return f"Install {package}=={here} there and start the workers again: other versions may give other results."
