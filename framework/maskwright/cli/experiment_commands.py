"""The commands advise, compare and tune: parse and call. Imports nothing heavy before one runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.command_support import add_reading_options, print_json, reading_options, refuse, show
from maskwright.foundation.counts import plural
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from maskwright.data.dataset import Dataset
    from maskwright.data.profiling.level_advice import LevelAdvice
    from maskwright.edits.edit_set import EditSet
    from maskwright.experiments.advice.key_advice import KeyAdvice
    from maskwright.experiments.advice.partition_advice import Advice
    from maskwright.foundation.progress import Reporter

    Command = Callable[[argparse.Namespace], int]
    from collections.abc import Callable, Iterable

    from maskwright.experiments.results import Compared


MOST_SHOWN = 12
PIPELINE = (".yaml", ".yml")


def add_advising(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command to the command line."""
    advise = add(
        "advise", _advise_variables, "Advise on variables to mask together, those that single people out, or levels."
    )
    whats = advise.add_subparsers(title="what", metavar="WHAT", required=True)

    def about(name: str, work: Command, says: str) -> argparse.ArgumentParser:
        sub = whats.add_parser(name, help=says, description=says)
        sub.set_defaults(command=work)
        sub.add_argument("--traceback", action="store_true", help="show a traceback when something goes wrong")
        sub.add_argument("data", type=Path, metavar="DATA",
                         help="data file, or a pipeline file: its data, roles, edits")  # fmt: skip
        sub.add_argument("--exclude", action="append", default=[], metavar="NAME",
                         help="leave a variable out: a weight, an identifier, what is not masked")  # fmt: skip
        return sub

    variables = about("variables", _advise_variables,
                      "Which variables to mask together: masked, measured and ranked.")  # fmt: skip
    variables.add_argument("--edits", type=Path, action="append", default=[], metavar="FILE",
                           help="variables that these bind stay together")  # fmt: skip
    variables.add_argument("--k", type=int, default=5, metavar="K", help="smallest cluster (5)")
    variables.add_argument("--measure", action="append", default=[], dest="measures", metavar="NAME",
                           help="the first ranks, others are shown; mg if none is named")  # fmt: skip
    variables.add_argument("--shape", action="append", default=[], dest="shapes", metavar="SIZES",
                           help="sizes of blocks, such as 3+10; every cut into two if none is given")  # fmt: skip
    variables.add_argument("--candidates", type=int, default=5, metavar="N",
                           help="partitions of each shape to mask and measure (5)")  # fmt: skip
    variables.add_argument("--seed", type=int, default=0, metavar="N", help="for partitions drawn at random (0)")
    variables.add_argument("--standardise", choices=("S_T", "S_X", "S_N", "S_M", "S_D"), default="S_T",
                           help="variables for the indicator: deviations from the mean over their standard deviation "
                           "(S_T), or values over the largest (S_X) or smallest (S_N) absolute value, the mean (S_M), "
                           "the standard deviation (S_D)")  # fmt: skip
    add_reading_options(variables)
    with_json(variables)
    keys = about("keys", _advise_keys, "Which sets of variables single people out, and which to treat first.")
    keys.add_argument("--keys", action="append", default=[], metavar="NAMES",
                      help="what an intruder may know, as in region,sex; by default variables with role "
                      "quasi_identifier, or all categories and whole numbers of few values")  # fmt: skip
    keys.set_defaults(edits=[])
    keys.add_argument("--largest", type=int, metavar="N", help="sets of at most N variables (3)")
    add_reading_options(keys)
    with_json(keys)

    levels = about("levels", _advise_levels,
                   "Which variables describe the household and which the person: data: levels: to paste.")  # fmt: skip
    levels.add_argument("--key", metavar="NAME",
                        help="variable that names the household; of a pipeline the one it declares")  # fmt: skip
    levels.set_defaults(edits=[])
    add_reading_options(levels)
    with_json(levels)


def _advise_variables(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.screen import Terminal
    from maskwright.experiments.advice.partition_advice import advise_variables

    for name in ("k", "candidates", "seed"):
        if getattr(chosen, name) < (0 if name == "seed" else 1):
            refuse(f"--{name} must be positive, not {getattr(chosen, name)}")
    reporter = Terminal(quiet=chosen.json)
    data, edits, only = _loaded_input(chosen, reporter)
    advice = advise_variables(
        data, edits, exclude=chosen.exclude, only=only, k=chosen.k, measures=chosen.measures or ("mg",),
        shapes=[_shape(text) for text in chosen.shapes], candidates=chosen.candidates, seed=chosen.seed,
        standardise=chosen.standardise, reporter=reporter,
    )  # fmt: skip
    show(chosen, advice.to_json(), lambda: _print(advice))
    return EXIT_FINE


def _advise_keys(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.screen import Terminal
    from maskwright.experiments.advice.key_advice import advise_keys

    if chosen.largest is not None and chosen.largest < 1:
        refuse(f"--largest must be positive, not {chosen.largest}")
    reporter = Terminal(quiet=chosen.json)
    data, _, _ = _loaded_input(chosen, reporter)
    named = [name.strip() for names in chosen.keys for name in names.split(",")]
    advice = advise_keys(data, keys=named, exclude=chosen.exclude, largest=chosen.largest, reporter=reporter)
    show(chosen, advice.to_json(), lambda: _print_keys(advice))
    return EXIT_FINE


def _advise_levels(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.screen import Terminal
    from maskwright.commands.options import NO_OPTIONS
    from maskwright.data.profiling.level_advice import advise_levels

    if chosen.data.suffix.lower() in PIPELINE:
        from maskwright.commands.levels.input_files import flat_data_of

        if reading_options(chosen) != NO_OPTIONS:
            refuse("options of reading go with a data file; a pipeline file says them itself")
        data, key = flat_data_of(chosen.data, chosen.key)
    elif chosen.key is None:
        refuse("--key NAME: the variable that names the household is wanted")
    else:
        data, key = _profiled_data(chosen, Terminal(quiet=chosen.json)), chosen.key
    advice = advise_levels(data, key, chosen.exclude)
    show(chosen, advice.to_json(), lambda: _print_levels(advice))
    return EXIT_FINE


def _print_levels(advice: LevelAdvice) -> None:
    print(f"{advice.records:,} records in {advice.groups:,} groups of {advice.key}; "
          f"{advice.compared:,} of them have 2 or more records and are compared")  # fmt: skip
    print(f"The same in every group: {', '.join(advice.constant) or 'none'}")
    for name, share in advice.nearly.items():
        other = round((1 - share) * advice.compared)
        print(f"The same in {100 * share:.4g} % of the groups: {name} (differs in {other:,})")
    print(f"Differs: {', '.join(advice.varying) or 'none'}")
    print(f"Tells the records of a group apart: {advice.member_key or 'none'}")
    for name, count in advice.pointers.items():
        but = f", but for {count:,} {'cell' if count == 1 else 'cells'}" if count else ""
        print(f"Names another record of the group: {name}{but}")
    print("To paste once you have read it (what is the same may be so by chance, what nearly is, but for an error):")
    print(advice.section)


def _loaded_input(chosen: argparse.Namespace, reporter: Reporter) -> tuple[Dataset, EditSet, tuple[str, ...] | None]:
    return (_of_pipeline if chosen.data.suffix.lower() in PIPELINE else _of_data)(chosen, reporter)


def _of_data(chosen: argparse.Namespace, reporter: Reporter) -> tuple[Dataset, EditSet, None]:
    from maskwright.commands.options import data_files, read_rule_files
    from maskwright.commands.profiled_file import with_found_options
    from maskwright.commands.reading import load
    from maskwright.foundation.progress import notify, part, stage

    options = reading_options(chosen)
    (file,) = data_files((chosen.data,), options, chosen.edits)
    edits = read_rule_files(chosen.edits, options)
    with stage(reporter, f"Reading {file.name}") as progress:
        file, stated = with_found_options(file, part(progress, 0.0, 0.5))
        data = load(file, part(progress, 0.5, 1.0), may_lack="identifiers")
    notify(reporter, stated)
    return data, edits, None


def _profiled_data(chosen: argparse.Namespace, reporter: Reporter) -> Dataset:
    """A file of which little may be declared: what its cells seem to mean is taken for it, and said."""
    from maskwright.commands.options import data_files
    from maskwright.commands.profiled_file import profile_file
    from maskwright.foundation.progress import notify, stage

    (file,) = data_files((chosen.data,), reading_options(chosen), ())
    with stage(reporter, f"Reading {file.name}") as progress:
        profiled = profile_file(file, progress)
    notify(reporter, (*(f"taken: {each}" for each in profiled.tried), *profiled.unsure))
    for name, codes in profiled.codes.items():
        reporter.notice(f"{name}: {', '.join(codes)} taken for 'no value': declare `{name}: {{missing: [...]}}` if so")
    for name, kinds in profiled.mixed.items():
        reporter.notice(f"{name}: {kinds.mixture}: correct these, or declare what they mean")
    return profiled.data


def _of_pipeline(chosen: argparse.Namespace, reporter: Reporter) -> tuple[Dataset, EditSet, tuple[str, ...] | None]:
    """Data, edits, and the variables that the steps list; None when a step masks all."""
    from maskwright.commands.options import NO_OPTIONS
    from maskwright.commands.running.loading import load_input
    from maskwright.foundation.progress import notify
    from maskwright.pipeline.reading import read_pipeline

    if chosen.edits or reading_options(chosen) != NO_OPTIONS:
        refuse("--edits and options of reading go with a data file; a pipeline file says them itself")
    request = read_pipeline(chosen.data)
    loaded = load_input(request, reporter)
    notify(reporter, loaded.notices)
    listed = [step.variables for step in request.steps]
    only = None if None in listed else tuple(name for names in listed for name in names or ())
    return loaded.original, loaded.edits, only


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split("+"))
    except ValueError:
        refuse(f"--shape {text}: expected sizes joined by '+', such as 3+10")


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


def _print_keys(advice: KeyAdvice) -> None:
    def share(records: int) -> str:
        return f"{records:,} records ({100.0 * records / advice.records:.3g} %)"

    print(f"{share(advice.singled_out)} of {advice.records:,} are singled out by some set of up to {advice.largest}:")
    for size, count in enumerate(advice.by_size, 1):
        print(f"  {count:>9,} smallest sets of {size} variable{'s' if size > 1 else ''}")
    if advice.sets:
        _print_sets(advice)
    for number, step in enumerate(advice.treat):
        first = "To treat first" if number == 0 else "then"
        print(f"{first}: {step.name}; without it {share(step.left)} are left")
    if advice.left_out:
        print(f"Left out: {', '.join(f'{name} ({why})' for name, why in advice.left_out.items())}")
    for note in advice.notes:
        print(f"Note: {note}")


def _print_sets(advice: KeyAdvice) -> None:
    print("Sets that single most records out (alone on the set, and on no part of it; alone on the set):")
    for number, each in enumerate(advice.sets[:MOST_SHOWN], 1):
        print(f"{number:>3}. {each.singled_out:>9,} {each.unique:>9,}  {' + '.join(each.keys)}")
    if len(advice.sets) > MOST_SHOWN:
        print(f"     and {len(advice.sets) - MOST_SHOWN} more: --json lists them")
    print("What each variable contributes (percent of the SUDA score; a set counts for each of its variables):")
    for key in advice.keys:
        print(f"     {key.contribution:6.2f}  {key.name} ({key.values:,} values)")


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
    from maskwright.experiments.results import summary_text

    _check_workers(chosen.workers)
    compared = compare(chosen.experiment, workers=chosen.workers, fresh=chosen.fresh, reporter=_reporter(chosen))
    pipeline = None if chosen.choose is None else compared.write_pipeline(chosen.choose)
    if chosen.json:
        print_json(compared.to_json() | ({} if pipeline is None else {"pipeline": str(pipeline)}))
        return _code(compared)
    print(summary_text(compared, every=chosen.every), end="")
    print(f"{plural(compared.computed, 'run')} computed, {compared.cached} known. Results: {compared.folder}")
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
    from maskwright.cli.show.screen import Terminal

    return Terminal(quiet=chosen.json)
