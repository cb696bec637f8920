"""What the sources conclude from their tables, counted in the printed figures and in ours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tables import Cell, Paper, Table, cell, read

from papers import hybrid_data, order_statistics, synthetic_data, thesis, variable_partitions
from papers.constrained_fuzzy_c_means import PAPER as CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LEADING = {"PI": "5-11", "ERD": "5-8", "ICN": "19-1", "ICD": "19-1", "MG": "5-11"}
"""Indicator with the largest relative sum for each measure, chapter 8 of the thesis."""
HYBRID_KS = (22, 30, 50, 100, 200)
BY_BLOCKS = ("Mic2mul", "Mic3mul", "Mic4mul", "Mic5mul", "Mic6mul", "Micmul")
"""Families of Appendix A, from few variables in a block to all in one."""
HALF_A_DIGIT = 5e-5
"""Of the printed sums."""
PROJECTIONS = ("MicZ", "MicPCP")
KS = range(3, 21)


def cells() -> Iterator[Cell]:
    """Rows of other tables, as they were recomputed last, under the claims that rest on them."""
    for number, scenario in ((1, "14 c in S1"), (2, "20 c in S2")):
        yield from _between(_cells_of(synthetic_data.REGRESSION.tables[number]), scenario)
    yield from _nearer(_cells_of(CLUSTERS.tables[1]))
    yield from _with_more_independents(_cells_of(synthetic_data.DEGREE_PROJECT.tables[0]))
    yield from _hybrid_data()
    for name, power, printed in (("DM", "cubic", 8), ("DMM", "quadratic", 4)):
        ratio = variable_partitions.counted_distances(name, 1080, 3) / variable_partitions.counted_distances(
            name, 540, 3
        )
        yield cell(f"{name} is {power}: times as many distances for twice the records", "", printed, round(ratio))
    for number, name in ((1, "uniform"), (5, "normal"), (9, "Weibull")):
        yield from _extremes(_cells_of(order_statistics.TABLES[number - 1]), name)
    yield from _with_k_and_blocks(_cells_of(thesis.METHODS.tables[0]))
    yield from _best(_cells_of(thesis.METHODS.tables[0]))
    yield from _leading(_cells_of(variable_partitions.TABLES[-1]))


def _cells_of(table: Table) -> tuple[Cell, ...]:
    return read(table).cells


def _counted(row: str, found: Iterable[Cell], holds: Callable[[dict[str, float]], int]) -> Cell:
    """How often a claim holds in the printed figures, and in ours."""
    both = [(each.row + " " + each.column, each.printed, each.computed) for each in found if each.computed]
    printed, ours = ({name: float(values[place]) for name, *values in both} for place in (0, 1))
    return cell(row, "", holds(printed), holds(ours))


def _between(found: tuple[Cell, ...], scenario: str) -> Iterator[Cell]:
    for figure, name in (
        ("PIL", "loses more than IPSO-C and less"),
        ("SCORE", "has a worse score than IPSO-C, a better"),
    ):

        def holds(value: dict[str, float], figure: str = figure) -> int:
            of_regression = [each for code, each in value.items() if code.startswith("FCRM")]
            highest = min(value[f"IPSO-A {figure}"], value[f"IPSO-B {figure}"])
            return sum(value[f"IPSO-C {figure}"] < each < highest for each in of_regression)

        of_figure = [each for each in found if each.column == figure]
        yield _counted(f"fuzzy c-regression {name} than IPSO-A and B: of {scenario}", of_figure, holds)


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


def _extremes(found: tuple[Cell, ...], name: str) -> Iterator[Cell]:
    chosen = [each for each in found if each.row.endswith((" G(1)", " G50%"))]

    def holds(value: dict[str, float]) -> int:
        extreme = {code: width for code, width in value.items() if " G(1) " in code}
        return sum(width < value[code.replace(" G(1) ", " G50% ")] for code, width in extreme.items())

    count = len(chosen) // 2
    yield _counted(f"{name}: the attack narrows the first group more than the middle, of {count}", chosen, holds)


def _with_k_and_blocks(found: tuple[Cell, ...]) -> Iterator[Cell]:
    """Rows of microaggregation in Table A.1, by family, k and figure."""
    for figure, name, sign in (("PI", "more loss", 1), ("ERD", "less linkage", -1)):
        rows = [each for each in found if each.column == figure and each.group.startswith("Mic")]
        places = {f"{each.row} {each.column}": (each.group, int(each.row[-2:])) for each in rows}
        families = {family for family, _ in places.values()}

        def of_steps(value: dict[str, float], sign: int = sign, places: dict[str, tuple[str, int]] = places) -> int:
            by_place = {places[code]: each for code, each in value.items()}
            return sum(sign * (by_place[f, k + 1] - by_place[f, k]) > 0 for f, k in by_place if k + 1 in KS)

        def of_blocks(value: dict[str, float], sign: int = sign, places: dict[str, tuple[str, int]] = places) -> int:
            by_place = {places[code]: each for code, each in value.items()}
            return sum(sign * (by_place[more, k] - by_place[f, k]) > 0 for f, more in pairwise(BY_BLOCKS) for k in KS)

        steps, pairs = len(families) * (len(KS) - 1), (len(BY_BLOCKS) - 1) * len(KS)
        yield _counted(f"microaggregation, k + 1 instead of k: {name}, of {steps} steps", rows, of_steps)
        yield _counted(f"microaggregation, more variables in a block: {name}, of {pairs} steps", rows, of_blocks)
        if figure == "PI":

            def projected(value: dict[str, float], places: dict[str, tuple[str, int]] = places) -> int:
                by_place = {places[code]: each for code, each in value.items()}
                others = [family for family in BY_BLOCKS if family != "Micmul"]
                return sum(min(by_place[f, k] for f in PROJECTIONS) > max(by_place[f, k] for f in others) for k in KS)

            yield _counted(f"projections lose more than each partition of variables, of {len(KS)} k", rows, projected)


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
            # Indicators that are equal by definition share a place.
            return 1 + sum(abs(each) > abs(value[name]) + HALF_A_DIGIT for each in value.values())

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
