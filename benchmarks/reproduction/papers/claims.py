"""What the sources conclude from their tables, counted in the printed figures and in ours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tables import Cell, Paper, Table, cell, read

from papers import hybrid_data, synthetic_data, thesis, variable_partitions
from papers.constrained_fuzzy_c_means import PAPER as CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LEADING = {"PI": "5-11", "ERD": "5-8", "ICN": "19-1", "ICD": "19-1", "MG": "5-11"}
"""Indicator with the largest relative sum for each measure, chapter 8 of the thesis."""
HYBRID_KS = (22, 30, 50, 100, 200)


def cells() -> Iterator[Cell]:
    """Rows of other tables, as they were recomputed last, under the claims that rest on them."""
    yield from _between(_cells_of(synthetic_data.REGRESSION.tables[1]))
    yield from _nearer(_cells_of(CLUSTERS.tables[1]))
    yield from _with_more_independents(_cells_of(synthetic_data.DEGREE_PROJECT.tables[0]))
    yield from _hybrid_data()
    for name, printed in (("DM", 8), ("DMM", 4)):
        ratio = variable_partitions.counted_distances(name, 1080, 3) / variable_partitions.counted_distances(
            name, 540, 3
        )
        yield cell(f"{name}: times as many distances for twice the records", "", printed, round(ratio))
    yield from _best(_cells_of(thesis.METHODS.tables[0]))
    yield from _leading(_cells_of(variable_partitions.TABLES[-1]))


def _cells_of(table: Table) -> tuple[Cell, ...]:
    return read(table).cells


def _counted(row: str, found: Iterable[Cell], holds: Callable[[dict[str, float]], int]) -> Cell:
    """How often a claim holds in the printed figures, and in ours."""
    both = [(each.row + " " + each.column, each.printed, each.computed) for each in found if each.computed]
    printed, ours = ({name: float(values[place]) for name, *values in both} for place in (0, 1))
    return cell(row, "", holds(printed), holds(ours))


def _between(found: tuple[Cell, ...]) -> Iterator[Cell]:
    def holds(value: dict[str, float]) -> int:
        losses = [loss for name, loss in value.items() if name.startswith("FCRM")]
        return sum(value["IPSO-C PIL"] < loss < value["IPSO-A PIL"] for loss in losses)

    losses = [each for each in found if each.column == "PIL"]
    yield _counted("fuzzy c-regression loses more than IPSO-C and less than IPSO-A: of 14 c in S1", losses, holds)


def _nearer(found: tuple[Cell, ...]) -> Iterator[Cell]:
    def holds(value: dict[str, float]) -> int:
        free = {name: distance for name, distance in value.items() if "unconstrained" in name}
        return sum(value[name.replace("unconstrained", "constrained")] < distance for name, distance in free.items())

    yield _counted("constrained centroids are nearer to the original ones than the others: of 12", found, holds)


def _with_more_independents(found: tuple[Cell, ...]) -> Iterator[Cell]:
    for figure, name, sign in (("PIL", "loss falls", -1), ("DR", "risk rises", 1)):
        rows = [each for each in found if each.column == figure]

        def holds(value: dict[str, float], sign: int = sign) -> int:
            # Of each c the rows stand in the order of n.
            names = [code.partition(",")[0] for code in value]
            pairs = zip(pairwise(value.values()), pairwise(names), strict=True)
            return sum(sign * (later - earlier) > 0 for (earlier, later), (one, other) in pairs if one == other)

        yield _counted(f"S3, one more independent variable: {name}, of 22 steps", rows, holds)


def _hybrid_data() -> Iterator[Cell]:
    compared = [hybrid_data.beside_microaggregation(k) for k in HYBRID_KS]
    for figure, name in (("PIL", "loss"), ("DR", "risk")):
        count = sum(hybrid[figure] < plain[figure] for hybrid, plain in compared)
        yield cell(f"hybrid data: {name} below that of means of the same clusters, of 5 k", "", len(compared), count)


def _best(found: tuple[Cell, ...]) -> Iterator[Cell]:
    scores = [each for each in found if each.column == "MG"]
    families = {each.row + " MG": each.group for each in scores}

    def rank_of(family: str) -> Callable[[dict[str, float]], int]:
        def holds(value: dict[str, float]) -> int:
            least: dict[str, float] = {}
            for name, score in value.items():
                least[families[name]] = min(score, least.get(families[name], score))
            return sorted(least, key=least.__getitem__).index(family) + 1

        return holds

    yield _counted("rank swapping: place of its best score among 14 families", scores, rank_of("Rank"))
    yield _counted("DMM of all variables: place of its best score among 14 families", scores, rank_of("Micmul"))


def _leading(found: tuple[Cell, ...]) -> Iterator[Cell]:
    for measure, indicator in LEADING.items():
        sums = [each for each in found if each.group == f"{measure}, relative sum"]

        def holds(value: dict[str, float], name: str = f"{indicator} ") -> int:
            return sorted(value, key=lambda code: -abs(value[code])).index(name) + 1

        yield _counted(f"{indicator}: place among the indicators of {measure}", sums, holds)


PAPER = Paper(
    "claims",
    "What the sources conclude",
    (
        Table(
            "claims", "Claims of the sources, counted in their figures and in ours", "all sources", cells,
            slow=True, reads_results=True,
        ),
    ),
)  # fmt: skip
