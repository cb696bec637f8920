"""The commands that look at data before anything is declared: parse and call. Imports nothing heavy before one runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.output import print_json, refuse, reporter
from maskwright.cli.reading_options import add_reading_options, reading_options
from maskwright.foundation.exit_codes import EXIT_FINE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    Command = Callable[[argparse.Namespace], int]

PIPELINE = Path("pipeline.yaml")


def add_looking(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands to the command line."""
    describe = add("describe", _describe, "Show what the variables of a data file look like, without their values.")
    describe.add_argument("data", type=Path, nargs="+", metavar="DATA")
    describe.add_argument("--show-values", action="store_true", help="extremes and categories too: confidential")
    add_reading_options(describe)
    with_json(describe)
    init = add("init", _init, "Look at a data file and write a pipeline to start from, or write one for no file.")
    init.add_argument("data", nargs="*", default=[Path()], type=Path, metavar="DATA",
                      help="data file, or two that are linked; or a folder, which gets a pipeline that says what to "
                      "fill in")  # fmt: skip
    init.add_argument("--to", type=Path, metavar="PIPELINE", help=f"file to write ({PIPELINE})")
    init.add_argument("--force", action="store_true", help="replace a file that is there")
    init.add_argument(
        "--plugin", metavar="NAME", help="write a package with a plugin instead, in a folder of that name"
    )
    init.add_argument("--kind", dest="plugin_kind", metavar="KIND",
                      help="of the plugin: method (unless said otherwise), measure, partition, aggregation, "
                      "constraint, source, edit_reader, report, rule_writer, plan_check, report_section, action, "
                      "command")  # fmt: skip
    add_reading_options(init)
    with_json(init)


def _describe(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.description import print_description
    from maskwright.commands.describe_data import describe_file

    found = [
        describe_file(
            path, options=reading_options(chosen), show_values=chosen.show_values, reporter=reporter(quiet=chosen.json)
        )
        for path in chosen.data
    ]
    if chosen.json:
        print_json(found[0].to_json() if len(found) == 1 else {"files": [each.to_json() for each in found]})
    else:
        for each in found:
            print_description(each)
    return EXIT_FINE


def _init(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.description import print_started
    from maskwright.commands.init import is_data, start_pipeline, write_starting_pipeline
    from maskwright.commands.options import NO_OPTIONS

    options = reading_options(chosen)
    if chosen.plugin is not None or chosen.plugin_kind is not None:
        return _init_plugin(chosen, has_options=options != NO_OPTIONS)
    if len(chosen.data) > 1:
        from maskwright.experiments.advice.linked_files import start_linked_pipeline

        started = start_linked_pipeline(
            chosen.data, chosen.to or PIPELINE, options=options, force=chosen.force,
            reporter=reporter(quiet=chosen.json),
        )  # fmt: skip
        if chosen.json:
            print_json(started.to_json())
        else:
            print_started(started)
        return started.exit_code
    (data,) = chosen.data
    if not is_data(data, options.file_format):
        if options != NO_OPTIONS or chosen.to is not None or chosen.json:
            refuse(f"{data} is no data file: only a folder can be named without one, and no options")
        path = write_starting_pipeline(data, force=chosen.force)
        print(f"Wrote {path}. Name your data and edits in it, then: maskwright plan {path}")
        return EXIT_FINE
    started = start_pipeline(
        data, chosen.to or PIPELINE, options=options, force=chosen.force, reporter=reporter(quiet=chosen.json)
    )
    if chosen.json:
        print_json(started.to_json())
    else:
        print_started(started)
    return started.exit_code


def _init_plugin(chosen: argparse.Namespace, *, has_options: bool) -> int:
    from maskwright.commands.new_plugin.write import write_plugin_package

    if chosen.plugin is None:
        refuse("--kind is of a plugin, and none is named: --plugin NAME --kind KIND")
    if has_options or chosen.to is not None or chosen.force:
        refuse("--plugin writes a package: only --kind, and the folder to put it in, go with it")
    if len(chosen.data) > 1:
        refuse("--plugin writes a package to one folder")
    folder, files = write_plugin_package(chosen.data[0], chosen.plugin, chosen.plugin_kind or "method")
    if chosen.json:
        print_json({"folder": str(folder), "files": list(files)})
    else:
        print(f"Wrote {folder} with {len(files)} files. Its tests pass as it is:")
        print(f"  cd {folder} && pip install --editable '.[test]' && pytest")
    return EXIT_FINE
