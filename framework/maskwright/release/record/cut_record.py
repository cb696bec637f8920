"""What the record of a run over parts says of how the file was cut, and by whom its tasks were done."""

from __future__ import annotations

from pydantic import Field

from maskwright.release.record.record_part import RecordPart


class GroupCutRecord(RecordPart):
    """Blocks in which a variable group was masked."""

    step: int
    variables: tuple[str, ...]
    tree: str = Field(description="SHA-256 of its strata and of the k-d cuts.")
    blocks: int
    smallest: int = Field(description="Records of the smallest block.")
    largest: int


class CutRecord(RecordPart):
    """How a run over parts was done."""

    engine: str
    parts: int
    sampled: int = Field(description="Records that the cuts were made from.")
    groups: tuple[GroupCutRecord, ...] = Field(description="Those that were masked in blocks.")
    measures: dict[str, str] = Field(
        description="Of each measure: 'exact', 'sampled' or 'approximate', against the file in memory."
    )
