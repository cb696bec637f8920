"""Options of XML files of microdata."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field, model_validator


class XmlParams(BaseModel, extra="forbid", frozen=True):
    """Options of XML files in the pipeline's ``data:`` section."""

    record: str | None = Field(
        None,
        description="Name of the element that is one record, for instance Record. Left out: the one child element of "
        "the root that is repeated.",
    )
    members: tuple[str, ...] = Field(
        (),
        description="Elements in the record that are records of the levels below, outermost first: they are left out. "
        "A pipeline with `levels` fills this in.",
    )
    group: dict[str, str] | None = Field(
        None,
        min_length=1,
        description="Elements around the record that are records of the levels above, outermost first, and their keys, "
        "which each row then has as first columns: {Household: hhid}. A pipeline with `levels` fills this in.",
    )
    decimal: str = Field(
        ".",
        pattern=r"^[.,]$",
        description="Decimal mark of numbers: '.' (default) or ','. Schematron reads no numbers with a comma.",
    )
    ignore_attributes: tuple[str, ...] = Field(
        (),
        description="Attributes of records and of what is in them that are neither read nor written, as the variables "
        "would be called: ['@id', 'wages/@unit'], or ['*'] for all. The others are variables.",
    )
    keep_attributes: tuple[str, ...] = Field(
        (),
        description="Attributes of the elements around the records that may be published, as the file writes them: "
        "[version, 'xsi:schemaLocation']. The others are left out of the masked file.",
    )
    max_depth: int = Field(8, ge=2, le=200, description="Deepest nesting of elements accepted (default 8).")
    max_text: int = Field(
        1_000_000, ge=1, description="Longest text of one cell accepted, in characters (default 1 MB)."
    )
    max_file_size: int | None = Field(
        None, ge=1, description="Largest file accepted, in bytes; of a compressed file, unpacked. Left out: no limit."
    )

    @model_validator(mode="after")
    def _names_its_level(self) -> Self:
        """Refuse a level of which it is not said which element its records are."""
        if self.record is None and (self.members or self.group):
            raise ValueError("`members` and `group` say which records are inside which: name the `record` too")
        return self
