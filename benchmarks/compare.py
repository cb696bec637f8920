"""Speed beside peers, growth with the records, and whether it fell: ``python benchmarks/compare.py [--keep VERSION]``.

    python benchmarks/compare.py [--only TEXT ...] [--repeats 5] [--keep VERSION] [--history FILE]

For each pair of `peers.py`, at about n, 3n and 10n: processor seconds of our way and of the peer's, one after the other
in turns in one process, the ratio (peer by ours: how many times as long the peer takes), its median, and the power of n
with which ours grows. Ratios of one run say the same on a slow and on a busy machine; seconds do not, and are not kept.

The ratio at the largest size that the peer takes is held against the last one in `history.csv`. Ends with 1 where it
has fallen by more than a quarter, twice in a row (the second time with twice the repeats), or where results differ.
``--keep VERSION`` adds what was measured to the history, under this version.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peers import PAIRS, Pair, Work
from speed_history import Kept, has_fallen, keep, kept_rows

if TYPE_CHECKING:
    from collections.abc import Callable

HISTORY = Path(__file__).with_name("history.csv")


class ResultsDiffer(Exception):  # noqa: N818 - the state by its name
    """Ours and the peer's are not the same thing."""


@dataclass(frozen=True)
class Measured:
    """Seconds of ours by number of records, and the ratio to the peer at those that it takes."""

    seconds: dict[int, float]
    ratios: dict[int, float]

    @property
    def exponent(self) -> float:
        """Power of n from the smallest to the largest size; nan of one size."""
        first, last = min(self.seconds), max(self.seconds)
        if first == last:
            return math.nan
        return math.log(self.seconds[last] / self.seconds[first]) / math.log(last / first)

    @property
    def judged(self) -> tuple[int, float]:
        """The largest size that the peer takes, and its ratio."""
        largest = max(self.ratios)
        return largest, self.ratios[largest]


def spent(action: Callable[[], object]) -> tuple[float, object]:
    """Processor seconds, of this process and of those that it waited for, and the result."""
    before = processor_seconds()
    found = action()
    return processor_seconds() - before, found


def processor_seconds() -> float:
    """Of this process and of the finished ones that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def in_turns(work: Work, repeats: int) -> tuple[float, float | None]:
    """Median seconds of ours, and the median ratio of the peer's to them; as many turns as make a second, at least."""
    ours, ratios = [], []
    while len(ours) < repeats or (sum(ours) < 1.0 and len(ours) < 20 * repeats):
        mine, result = spent(work.ours)
        ours.append(mine)
        if work.peer is not None:
            its, other = spent(work.peer)
            ratios.append(its / work.share / mine)
            if len(ours) == 1 and work.same is not None and not work.same(result, other):
                raise ResultsDiffer
    return statistics.median(ours), statistics.median(ratios) if ratios else None


def measure(pair: Pair, repeats: int) -> Measured:
    """All sizes of a pair; what compiles does so on the smallest, before."""
    seconds: dict[int, float] = {}
    ratios: dict[int, float] = {}
    for n in pair.sizes:
        with tempfile.TemporaryDirectory() as folder:
            work = pair.make(n, Path(folder))
            if n > pair.peer_until:
                work = Work(work.ours, None)
            if not seconds:
                work.ours()
            seconds[n], ratio = in_turns(work, repeats)
        if ratio is not None:
            ratios[n] = ratio
    return Measured(seconds, ratios)


def main() -> int:
    """Print a line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT", default=[""], help="pairs with one of these in their name")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", metavar="VERSION", help="add the figures to the history")
    parser.add_argument("--history", type=Path, default=HISTORY)
    chosen = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; processor seconds")
    last = {(row.work, row.peer, row.records): row for row in kept_rows(chosen.history)}
    fallen, differ, rows = [], [], []
    for pair in PAIRS:
        if not any(text in pair.name for text in chosen.only):
            continue
        try:
            found = measure(pair, chosen.repeats)
        except ResultsDiffer:
            print(f"{pair.name:<34} the results of {pair.peer} are others", flush=True)
            differ.append(pair.name)
            continue
        records, ratio = found.judged
        before = last.get((pair.name, pair.peer, records))
        if has_fallen(ratio, before):
            found = measure(pair, 2 * chosen.repeats)
            ratio = found.judged[1]
        print(line(pair, found, before), flush=True)
        if has_fallen(ratio, before):
            fallen.append(pair.name)
        today = dt.date.today().isoformat()
        rows.append(Kept(chosen.keep or "", today, pair.name, pair.peer, records, round(ratio, 3),
                         round(found.exponent, 2)))  # fmt: skip
    if fallen:
        print(f"slower by more than a quarter beside the peer: {', '.join(fallen)}")
    if chosen.keep and not fallen and not differ:
        keep(chosen.history, rows)
    return 1 if fallen or differ else 0


def line(pair: Pair, found: Measured, before: Kept | None) -> str:
    """What one pair showed."""
    sizes = ", ".join(f"{n:,}: {seconds:.3g} s" for n, seconds in found.seconds.items())
    records, ratio = found.judged
    growth = "" if math.isnan(found.exponent) else f", power {found.exponent:.2f}"
    held = "" if before is None else f" ({before.ratio:.3g} in {before.version})"
    return f"{pair.name:<34} {sizes}{growth}; {pair.peer} at {records:,}: {ratio:.3g} times{held}"


if __name__ == "__main__":
    sys.exit(main())
