"""Lossy compression: the table becomes a grey picture, which is compressed as JPEG and read again."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Claims, InputError, Masked, Method

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRIP = 65_496
"""Most records of a picture: libjpeg admits 65 500 lines, and codes squares of 8 by 8."""

WHITE = 255


class LossyCompressionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of lossy compression."""

    quality: int = Field(
        default=55,
        ge=1,
        le=100,
        strict=True,
        description="JPEG quality: the lower, the more is lost and protected. Usual: 10 to 95.",
    )
    truncate: bool = Field(
        default=False,
        strict=True,
        description="Cut grey levels, and the masked values, to whole numbers, as the source's thesis did; by default "
        "levels are rounded and values keep their fractions. No value falls below the variable's least original one, "
        "which low values get.",
    )


def protect(block: Block, params: LossyCompressionParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001
    """Compress the table as a picture, and read it again.

    Returns
    -------
    Masked
        Each variable is mapped linearly from its range to 0..255 and rounded, or cut with `truncate`; records are the
        lines and variables the columns of an 8-bit grey picture, which Pillow writes as JPEG (in strips of 65 496
        records) and reads; values are mapped back, and stay between the smallest and the largest original one. Which
        values are near each other in the picture, and so the result, depends on the order of records and variables.
        Missing cells stay missing, and have the variable's mean in the picture.

    Raises
    ------
    InputError
        When there are more variables than a picture has columns.

    Notes
    -----
    The same libjpeg gives the same bytes; another one may differ in single grey levels.

    References
    ----------
    Domingo-Ferrer, J. and Torra, V. (2001): Disclosure control methods and information loss for microdata.
    Confidentiality, Disclosure and Data Access, Elsevier, 91-110; method JPEG of Mateo-Sanz's thesis, whose figures
    come out with `truncate`.
    """
    if block.p > STRIP:
        raise InputError(f"lossy_compression masks at most {STRIP} variables together; there are {block.p}")
    known = np.where(block.missing, np.nan, block.values)
    present = ~block.missing.all(axis=0)
    low, high, center = np.zeros(block.p), np.zeros(block.p), np.zeros(block.p)
    if present.any():
        low[present], high[present] = np.nanmin(known[:, present], axis=0), np.nanmax(known[:, present], axis=0)
        center[present] = np.nanmean(known[:, present], axis=0)
    # Halves, because the span of very large numbers of both signs is too large for a number.
    half = high / 2.0 - low / 2.0
    unit = np.where(half > 0.0, half, 1.0)
    shares = (np.where(block.missing, center, block.values) / 2.0 - low / 2.0) / unit
    whole = np.floor if params.truncate else np.rint
    picture = whole(np.clip(shares, 0.0, 1.0) * WHITE).astype(np.uint8)
    for start in range(0, block.n, STRIP):
        picture[start : start + STRIP] = _through_jpeg(picture[start : start + STRIP], params.quality)
        block.progress(min(start + STRIP, block.n) / block.n)
    values = low + 2.0 * half * (picture / WHITE)
    values = np.clip(np.floor(values) if params.truncate else values, low, high)
    values[block.missing] = np.nan
    changed = int(np.count_nonzero((values != block.values) & ~block.missing))
    return Masked(values, block.missing.copy(), notes={"changed_cells": changed})


def _through_jpeg(picture: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    """Picture of shape (n, p), written and read."""
    # Not before it is needed: other methods do without.
    from PIL import Image

    file = BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, format="JPEG", quality=quality)
    with Image.open(file, formats=["JPEG"]) as read:
        return np.asarray(read, dtype=np.uint8)


LOSSY_COMPRESSION = Method(
    name="lossy_compression",
    protect=protect,
    params=LossyCompressionParams,
    scope="all",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer"},
        handles_missing=True,
        preserves={"range"},
        deterministic=True,
    ),
    libraries={"PIL": "pip install 'maskwright[compression]'"},
    reference="Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, "
    "Confidentiality, Disclosure and Data Access, Elsevier, 91-110",
    summary="Compresses the table as a grey JPEG picture and reads it again.",
    example="method: lossy_compression\nparams: {quality: 55}\n",
)
