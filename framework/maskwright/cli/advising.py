"""The command that advises: parse and call. Imports nothing heavy before it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.reading_options import add_reading_options, reading_options
from maskwright.foundation.errors import EXIT_FINE, InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.experiments.advice.advise import Advice
    from maskwright.foundation.progress import Reporter

    Command = Callable[[argparse.Namespace], int]

MOST_SHOWN = 12
PIPELINE = (".yaml", ".yml")


def add_advising(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command to the command line."""
    advise = add("advise", _advise, "Advise on which variables to mask together: masked, measured and ranked.")
    advise.add_argument("what", choices=("variables",))
    advise.add_argument("data", type=Path, metavar="DATA",
                        help="data file, or a pipeline file: its data, roles, edits, variables of steps")  # fmt: skip
    advise.add_argument("--exclude", action="append", default=[], metavar="NAME",
                        help="leave a variable out: a weight, an identifier, what is not masked")  # fmt: skip
    advise.add_argument("--edits", type=Path, action="append", default=[], metavar="FILE",
                        help="variables that these bind stay together")  # fmt: skip
    advise.add_argument("--k", type=int, default=5, metavar="K", help="smallest cluster (5)")
    advise.add_argument("--measure", action="append", default=[], dest="measures", metavar="NAME",
                        help="the first ranks, others are told; mg if none is named")  # fmt: skip
    advise.add_argument("--shape", action="append", default=[], dest="shapes", metavar="SIZES",
                        help="sizes of blocks, such as 3+10; every cut into two blocks if none is given")  # fmt: skip
    advise.add_argument("--candidates", type=int, default=5, metavar="N",
                        help="partitions of each shape to mask and measure (5)")  # fmt: skip
    advise.add_argument("--seed", type=int, default=0, metavar="N", help="for partitions drawn at random (0)")
    add_reading_options(advise)
    with_json(advise)


def _advise(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.progress_bar import Terminal
    from maskwright.experiments.advice.advise import advise_variables

    for name in ("k", "candidates", "seed"):
        if getattr(chosen, name) < (0 if name == "seed" else 1):
            raise InputError(f"--{name} must be positive, not {getattr(chosen, name)}")
    reporter = Terminal(quiet=chosen.json)
    data, edits, only = (
        _of_pipeline(chosen, reporter) if chosen.data.suffix.lower() in PIPELINE else _of_data(chosen, reporter)
    )
    advice = advise_variables(
        data, edits, exclude=chosen.exclude, only=only, k=chosen.k, measures=chosen.measures or ("mg",),
        shapes=[_shape(text) for text in chosen.shapes], candidates=chosen.candidates, seed=chosen.seed,
        reporter=reporter,
    )  # fmt: skip
    if chosen.json:
        print(json.dumps(advice.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(advice)
    return EXIT_FINE


def _of_data(chosen: argparse.Namespace, reporter: Reporter) -> tuple[Dataset, EditSet, None]:
    from maskwright.commands.options import data_files, read_rule_files
    from maskwright.commands.reading import load
    from maskwright.foundation.progress import stage

    options = reading_options(chosen)
    (file,) = data_files((chosen.data,), options, chosen.edits)
    edits = read_rule_files(chosen.edits, options)
    with stage(reporter, f"Reading {file.name}") as progress:
        return load(file, progress, may_lack="identifiers"), edits, None


def _of_pipeline(chosen: argparse.Namespace, reporter: Reporter) -> tuple[Dataset, EditSet, tuple[str, ...] | None]:
    """Data, edits, and the variables that the steps list; None when a step masks all."""
    from maskwright.commands.arrive import arrive
    from maskwright.commands.options import NO_OPTIONS
    from maskwright.pipeline.reading import read_pipeline

    if chosen.edits or reading_options(chosen) != NO_OPTIONS:
        raise InputError("--edits and options of reading go with a data file; a pipeline file says them itself")
    request = read_pipeline(chosen.data)
    arrived = arrive(request, reporter)
    for notice in arrived.notices:
        reporter.notice(notice)
    listed = [step.variables for step in request.steps]
    only = None if None in listed else tuple(name for names in listed for name in names or ())
    return arrived.original, arrived.edits, only


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split("+"))
    except ValueError:
        raise InputError(f"--shape {text}: expected sizes joined by '+', such as 3+10") from None


def _print(advice: Advice) -> None:
    for shape, count in advice.counts.items():
        drawn = ", drawn from at random" if shape in advice.sampled else ""
        print(f"{shape}: {count} partitions{drawn}")
    print(f"Shortlisted by indicator {advice.indicator}, masked, and ranked by {advice.objective}:")
    for number, each in enumerate(advice.ranked[:MOST_SHOWN], 1):
        figures = ", ".join(f"{label} {value:.2f}" for label, value in each.measures.items())
        print(f"{number:>3}. {each.shape:<7} {figures}  ({each.why})")
        for block in each.blocks:
            print(f"     · {', '.join(block)}")
    if len(advice.ranked) > MOST_SHOWN:
        print(f"     and {len(advice.ranked) - MOST_SHOWN} more: --json lists them")
    groups = "[" + ", ".join("[" + ", ".join(block) + "]" for block in advice.ranked[0].blocks) + "]"
    print(f"In a pipeline: groups: {groups}")
    for note in advice.notes:
        print(f"Note: {note}")
