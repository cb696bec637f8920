"""The commands that compare: parse and call. Imports nothing heavy before a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.output import print_json, refuse
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from maskwright.experiments.results import Compared
    from maskwright.foundation.progress import Reporter

    Command = Callable[[argparse.Namespace], int]

MOST_NAMED = 5


def add_comparing(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands to the command line."""
    compare = add("compare", _compare, "Compare methods and parameters: a table and a risk-utility map.")
    compare.add_argument("--choose", metavar="CELL", help="write the pipeline file of this cell, ready to run")
    compare.add_argument("--all", action="store_true", dest="every", help="show all cells, not only the best ones")
    compare.add_argument("--fresh", action="store_true", help="compute everything again, whatever was kept")
    _experiment_arguments(compare, with_json)
    tune = add("tune", _tune, "Search settings beyond an experiment's grid: smallest score, or loss under a risk.")
    _experiment_arguments(tune, with_json)


def _experiment_arguments(sub: argparse.ArgumentParser, with_json: Callable[[argparse.ArgumentParser], None]) -> None:
    sub.add_argument("experiment", type=Path, metavar="EXPERIMENT")
    sub.add_argument("--workers", type=int, metavar="N", help="processes; one for each processor if not given")
    with_json(sub)


def _compare(chosen: argparse.Namespace) -> int:
    from maskwright.experiments.compare import compare
    from maskwright.experiments.summary import summary_text

    _check_workers(chosen.workers)
    compared = compare(chosen.experiment, workers=chosen.workers, fresh=chosen.fresh, reporter=_reporter(chosen))
    pipeline = None if chosen.choose is None else compared.write_pipeline(chosen.choose)
    if chosen.json:
        print_json(compared.to_json() | ({} if pipeline is None else {"pipeline": str(pipeline)}))
        return _code(compared)
    print(summary_text(compared, every=chosen.every), end="")
    print(f"{compared.computed} run(s) were computed, {compared.cached} were known. Results: {compared.folder}")
    if pipeline is not None:
        print(f"Next: maskwright run {pipeline}")
    return _code(compared)


def _code(compared: Compared) -> int:
    """Exit code; what it is about is said on standard error, also beside JSON."""
    if compared.failed:
        _warn(f"{len(compared.failed)} of {len(compared.cells)} cells failed: {_listed(compared.failed)}")
    if not compared.usable:
        _warn("no cell masks and keeps every edit: there is nothing to choose")
        return EXIT_REFUSED
    return EXIT_FINE


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f", and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def _tune(chosen: argparse.Namespace) -> int:
    from maskwright.experiments.tune import aim_text, tune

    _check_workers(chosen.workers)
    tuned = tune(chosen.experiment, workers=chosen.workers, reporter=_reporter(chosen))
    if chosen.json:
        print_json(tuned.to_json())
    else:
        print(aim_text(tuned), end="")
        print(f"Next: maskwright run {tuned.pipeline}")
    return EXIT_FINE


def _check_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        refuse(f"--workers must be at least 1, not {workers}")


def _reporter(chosen: argparse.Namespace) -> Reporter:
    from maskwright.cli.show.progress_bar import Terminal

    return Terminal(quiet=chosen.json)
