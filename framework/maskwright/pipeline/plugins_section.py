"""The ``plugins:`` section: which packages may offer plugins, and who else claims the files of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.file_model import PluginsSection
from maskwright.pipeline.resolved import RuleFile
from maskwright.plugins.allowed import package_name
from maskwright.plugins.registry import installed_packages, plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.foundation.yaml_document import Node
    from maskwright.pipeline.resolved import Pipeline


def allowed_packages(section: Node | None, problems: list[Problem]) -> tuple[str, ...] | None:
    """Packages that the section allows; None: all. A wrong section allows none."""
    if section is None or (section.is_scalar and section.value is None):
        return None
    read = read_model(PluginsSection, section, problems)
    if read is None:
        return ()
    listed, known = section.get("allow"), installed_packages()
    named = () if listed is None or not listed.is_sequence else listed.elements
    problems.extend(
        Problem(unknown_name("package with plugins", node.raw, known), node.place)
        for node in named
        if package_name(node.raw) not in known
    )
    return read.allow


def choice_notices(pipeline: Pipeline) -> Iterator[str]:
    """Sentences about plugins that claim the files of a pipeline too, and are not used for them."""
    registry = plugins()
    sources = [pipeline.data] if pipeline.levels is None else list(pipeline.levels.sources.values())
    files = {each.path.name: each.source.name for each in sources}
    written = pipeline.output.level_data.values() or (pipeline.output.data,)
    files |= {path.name: pipeline.output.source.name for path in written}
    for file, chosen in files.items():
        yield from registry.other_claims("source", file, chosen)
    rules = () if not isinstance(pipeline.edits, tuple) else pipeline.edits
    for each in rules:
        if isinstance(each, RuleFile):
            yield from registry.other_claims("edit_reader", each.path.name, each.reader.name)
