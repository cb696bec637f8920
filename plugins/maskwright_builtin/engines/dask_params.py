"""Parameters of the Dask engine."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field

from maskwright import MemorySize
from maskwright_builtin.engines.dask_addresses import TlsFiles


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
