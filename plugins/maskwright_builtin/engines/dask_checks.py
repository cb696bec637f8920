"""Whether workers can do the work: what they have installed, and which folders they see."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import uuid
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from maskwright import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Packages = tuple[tuple[str, str], ...]
"""Version by distribution, in a form that can be sent and remembered."""


def check_workers(client: Any, packages: Mapping[str, str], scratch: Path) -> None:
    """Refuse workers that would fail, or give other results.

    Only functions of the standard library are called there: Maskwright itself may be what is missing.

    `packages`: version by distribution, each of which all workers must have. `scratch`: that all workers must see, and
    write into.
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
        told = [each[1:] for each in str(config.CPU_FEATURES or "").split(",") if each.startswith("+")]
        return (platform.machine(), *sorted(told))
    return (platform.machine(), *sorted(name for name, has in binding.get_host_cpu_features().items() if has))


@functools.cache
def kind_of_processor() -> str:
    """The same for processors with the same instructions."""
    return hashlib.sha256(" ".join(processor()).encode()).hexdigest()[:16]


def check_processors(client: Any) -> None:
    """Refuse workers whose processors have other instructions than this one, which may round otherwise.

    `client`: of workers with the same packages.
    """
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
