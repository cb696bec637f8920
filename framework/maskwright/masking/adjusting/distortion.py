"""What adjusting, rounding and deriving did to means, spreads, quantiles and correlations beyond the methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Floats
    from maskwright.masking.context import Standardisation

CHUNK = 65_536

FARTHEST, WIDTH = 8.0, 0.02
"""Range and width of the bins that values are counted in, in standard deviations of the original."""

EDGES = np.linspace(-FARTHEST, FARTHEST, round(2 * FARTHEST / WIDTH) + 1)
DECILES = np.linspace(0.1, 0.9, 9)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the records of some data, in standard deviations of the original file about its means.

    Those of parts of a file add up. `both`: records in which two variables have a value. `first`: sums of the one over
    these. `product`: sums of products; shape (p, p). `counts`: values by size; shape (p, b).
    """

    names: tuple[str, ...]
    both: Floats
    first: Floats
    product: Floats
    counts: Floats

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str], standardisation: Standardisation) -> Moments:
        """Sums over all records, a bounded number of them at a time."""
        p = len(names)
        both, first, product = (np.zeros((p, p)) for _ in range(3))
        counts = np.zeros((p, len(EDGES) + 1))
        for start in range(0, len(data) if p else 0, CHUNK):
            rows = np.stack([
                np.where(
                    data[name].missing[start : start + CHUNK], np.nan,
                    (data[name].values[start : start + CHUNK] - standardisation.center[name])
                    / standardisation.scale[name],
                ) for name in names
            ], axis=1)  # fmt: skip
            gone = np.isnan(rows)
            for place in range(p):
                own = rows[~gone[:, place], place]
                counts[place] += np.bincount(np.searchsorted(EDGES, own), minlength=len(EDGES) + 1)
            # Not a product of matrices: what a linear algebra library sums differs between machines.
            if gone.any():
                there, rows = (~gone).astype(np.float64), np.nan_to_num(rows)
                both += np.einsum("ni,nj->ij", there, there)
                first += np.einsum("ni,nj->ij", rows, there)
            else:
                both += len(rows)
                first += rows.sum(axis=0)[:, None]
            product += np.einsum("ni,nj->ij", rows, rows)
        return cls(tuple(names), both, first, product, counts)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.names, self.both + other.both, self.first + other.first, self.product + other.product,
            self.counts + other.counts,
        )  # fmt: skip

    def __sub__(self, other: Moments) -> Moments:
        return Moments(
            self.names, self.both - other.both, self.first - other.first, self.product - other.product,
            self.counts - other.counts,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Plain data, of which `from_json` makes the same."""
        sparse = [{str(place): row[place] for place in np.flatnonzero(row).tolist()} for row in self.counts]
        return {
            "names": list(self.names), "both": self.both.tolist(), "first": self.first.tolist(),
            "product": self.product.tolist(), "counts": sparse,
        }  # fmt: skip

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Moments:
        """The sums of what `to_json` gave."""
        p = len(given["names"])
        counts = np.zeros((p, len(EDGES) + 1))
        for row, sparse in zip(counts, given["counts"], strict=True):
            for place, count in sparse.items():
                row[int(place)] = count
        both, first, product = (np.array(given[name]).reshape(p, p) for name in ("both", "first", "product"))
        return cls(tuple(given["names"]), both, first, product, counts)

    def of_variables(
        self, variables: Mapping[str, str], before: Standardisation, standardisation: Standardisation
    ) -> Moments:
        """The same of whole variables, of which these are cells, in other units: each by itself.

        `variables`: of each name. `before`: the units of these sums.
        """
        names = tuple(dict.fromkeys(variables.values()))
        p = len(names)
        both, first, product = (np.zeros((p, p)) for _ in range(3))
        counts = np.zeros((p, len(EDGES) + 1))
        middles = np.concatenate([[-FARTHEST - WIDTH], (EDGES[1:] + EDGES[:-1]) / 2, [FARTHEST + WIDTH]])
        for own, name in enumerate(self.names):
            if name not in variables:
                continue
            variable = variables[name]
            at = names.index(variable)
            factor = before.scale[name] / standardisation.scale[variable]
            shift = (before.center[name] - standardisation.center[variable]) / standardisation.scale[variable]
            n, total, squares = self.both[own, own], self.first[own, own], self.product[own, own]
            both[at, at] += n
            first[at, at] += factor * total + n * shift
            product[at, at] += factor**2 * squares + 2 * factor * shift * total + n * shift**2
            np.add.at(counts[at], np.searchsorted(EDGES, middles * factor + shift), self.counts[own])
        return Moments(names, both, first, product, counts)

    @property
    def means(self) -> Floats:
        """Of the cells with a value; 0 where there is none; shape (p,)."""
        n = np.diag(self.both)
        return np.divide(np.diag(self.first), n, out=np.zeros(len(n)), where=n > 0)

    @property
    def covariances(self) -> Floats:
        """Over the records in which both have a value; shape (p, p)."""
        n = self.both
        products = self.product - np.divide(self.first * self.first.T, n, out=np.zeros_like(n), where=n > 0)
        return np.divide(products, n - 1, out=np.zeros_like(n), where=n > 1)

    @property
    def deviations(self) -> Floats:
        """Of the cells with a value; shape (p,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariances), 0.0)))

    @property
    def correlations(self) -> Floats:
        """0 where a variable does not vary; shape (p, p)."""
        both = np.outer(self.deviations, self.deviations)
        return np.divide(self.covariances, both, out=np.zeros_like(both), where=both > 1e-12)

    @property
    def deciles(self) -> Floats:
        """Shape (p, 9)."""
        shares = np.cumsum(self.counts, axis=1)
        total = np.maximum(shares[:, -1:], 1)
        ends = np.append(EDGES, FARTHEST)
        return np.array([np.interp(DECILES, own / all_, ends) for own, all_ in zip(shares, total, strict=True)])


class Shift(NamedTuple):
    """How far the mean, the standard deviation and a decile of a variable moved, in standard deviations.

    `mean`, `deviation`, `decile`: by adjusting; of the deciles the one that moved farthest. `method_mean`,
    `method_deviation`: by the methods before.
    """

    variable: str
    mean: float
    deviation: float
    decile: float
    method_mean: float
    method_deviation: float


@dataclass(frozen=True, eq=False)
class Distortion:
    """Numeric masked variables of the original, as the methods returned them, and after adjusting and rounding.

    `records`: that are masked.
    """

    original: Moments
    returned: Moments
    adjusted: Moments
    records: int

    def __add__(self, other: Distortion) -> Distortion:
        return Distortion(
            self.original + other.original, self.returned + other.returned, self.adjusted + other.adjusted,
            self.records + other.records,
        )  # fmt: skip

    @classmethod
    def of(
        cls, original: Dataset, returned: Dataset, adjusted: Dataset, names: Sequence[str],
        standardisation: Standardisation,
    ) -> Distortion:  # fmt: skip
        """Measure three states of a file, or of a part of it."""
        first, before, after = (Moments.of(data, names, standardisation) for data in (original, returned, adjusted))
        return cls(first, before, after, len(adjusted))

    def of_variables(
        self, variables: Mapping[str, str], before: Standardisation, standardisation: Standardisation
    ) -> Distortion:
        """The same of whole variables, of which some of these are cells."""
        first, returned, adjusted = (
            each.of_variables(variables, before, standardisation)
            for each in (self.original, self.returned, self.adjusted)
        )
        return Distortion(first, returned, adjusted, self.records)

    def moving_only(self, some: Distortion) -> Distortion:
        """What it would be if adjusting moved `some` of these records, and left the others as the methods returned."""
        return Distortion(
            self.original, self.returned, self.returned - some.returned + some.adjusted, self.records
        )  # fmt: skip

    @property
    def shifts(self) -> Iterator[Shift]:
        """Of each variable."""
        first, before, after = self.original, self.returned, self.adjusted
        deciles = after.deciles - before.deciles
        for place, name in enumerate(after.names):
            yield Shift(
                name,
                float(after.means[place] - before.means[place]),
                float(after.deviations[place] - before.deviations[place]),
                float(deciles[place, np.argmax(np.abs(deciles[place]))]),
                float(before.means[place] - first.means[place]),
                float(before.deviations[place] - first.deviations[place]),
            )

    def to_json(self) -> dict[str, Any] | None:
        """As in `run.json`; None where nothing numeric was masked."""
        names = self.adjusted.names
        if not names or not self.records:
            return None
        shifts = list(self.shifts)
        mean = max(shifts, key=lambda each: abs(each.mean))
        found: dict[str, Any] = {"mean": {"variable": mean.variable, "sd": abs(mean.mean)}}
        for what, unit in (("covariance", "sd_squared"), ("correlation", "change")):
            moved = np.abs(getattr(self.adjusted, f"{what}s") - getattr(self.returned, f"{what}s"))
            one, other = np.unravel_index(int(np.argmax(moved)), moved.shape)
            found[what] = {"variables": [names[int(one)], names[int(other)]], unit: float(moved.max())}
        return found | {"variables": [each._asdict() for each in shifts]}
