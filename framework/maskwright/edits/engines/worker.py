"""The process in which engines run: rules of other people, documents of one's own, and no way out.

Started as ``python -m maskwright.edits.engines.worker ENGINE [BYTES]`` with an empty environment; BYTES limits its
memory. It reads requests as lines of JSON on standard input and answers each with one line: ``{"compile": [stylesheet,
...]}`` is answered by ``{"errors": [null | reason, ...]}``, ``{"apply": document}`` by ``{"texts": [...]}`` or
``{"error": reason, "details": {...}}``; its ``"others"`` are further documents, which stylesheets call by number.
Reasons are about stylesheets; those about documents name no content, and their details are lines of a stylesheet and
codes of errors.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from maskwright.edits.engines.engine_tests import EXTENSIONS, OTHER_DOCUMENT, OTHER_PARAMETER, SIBLING_NUMBER
from maskwright.foundation.processes.signals import prevent_core_dumps

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_REASON = 300
KEPT_FROM = 100
"""Children from which their numbers are kept: those of few are counted again faster than they are stored."""

_CODE = re.compile(r"\b[A-Z]{4}[0-9]{4}\b")


class _Numbers:
    """Number of an element among its siblings of the same name, for `SIBLING_NUMBER`; 0 where it is the only one.

    Counting from each element would take a time that grows with the square of their number: siblings are counted once.
    """

    def __init__(self) -> None:
        self._of_parents: dict[Any, tuple[dict[Any, int], Counter[str]]] = {}

    def __call__(self, context: Any) -> float:
        element = context.context_node
        parent = element.getparent()
        if parent is None:
            return 0.0
        numbers, alike = self._of_parents.get(parent) or self._counted(parent)
        return float(numbers[element] if alike[element.tag] > 1 else 0)

    def _counted(self, parent: Any) -> tuple[dict[Any, int], Counter[str]]:
        alike: Counter[str] = Counter()
        numbers = {}
        for child in parent.iterchildren("*"):
            alike[child.tag] += 1
            numbers[child] = alike[child.tag]
        if len(numbers) >= KEPT_FROM:
            self._of_parents[parent] = numbers, alike
        return numbers, alike


class Lxml:
    """libxslt, without files, network or entities; its extensions number siblings and find the other documents."""

    def __init__(self) -> None:
        from lxml import etree

        self._etree = etree
        self._parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
        # No file and no network, to read or to write.
        self._access = etree.XSLTAccessControl.DENY_ALL  # type: ignore[attr-defined]
        self._others: list[Any] = []

    def compile(self, stylesheet: str) -> Callable[[Any, list[Any]], str]:
        """Program of a stylesheet."""
        transform = self._etree.XSLT(
            self._etree.fromstring(stylesheet.encode(), self._parser),
            extensions={
                (EXTENSIONS, SIBLING_NUMBER): _Numbers(),
                (EXTENSIONS, OTHER_DOCUMENT): lambda _, number: [self._others[int(number) - 1].getroot()],
            },
            access_control=self._access,
        )

        def program(document: Any, others: list[Any]) -> str:
            self._others = others
            return str(transform(document))

        return program

    def parse(self, document: str) -> Any:
        """Tree of a document."""
        return self._etree.fromstring(document.encode(), self._parser).getroottree()


class Saxon:
    """Saxon, with every protocol and external function switched off."""

    def __init__(self) -> None:
        from saxonche import PySaxonProcessor

        self._processor = PySaxonProcessor(license=False)
        for feature, value in (
            ("http://saxon.sf.net/feature/allowedProtocols", ""),
            ("http://saxon.sf.net/feature/allow-external-functions", "false"),
        ):
            self._processor.set_configuration_property(feature, value)
        self._compiler = self._processor.new_xslt30_processor()

    def compile(self, stylesheet: str) -> Callable[[Any, list[Any]], str]:
        """Program of a stylesheet."""
        executable = self._compiler.compile_stylesheet(stylesheet_text=stylesheet)

        def program(document: Any, others: list[Any]) -> str:
            for number, other in enumerate(others, 1):
                executable.set_parameter(f"{OTHER_PARAMETER}.{number}", other)
            return executable.transform_to_string(xdm_node=document) or ""

        return program

    def parse(self, document: str) -> Any:
        """Tree of a document."""
        return self._processor.parse_xml(xml_text=document)


ENGINES: dict[str, type[Lxml | Saxon]] = {"lxml": Lxml, "saxon": Saxon}


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:LONGEST_REASON] or type(error).__name__


def _details(error: Exception) -> dict[str, object]:
    """Details of an error over a document that hold nothing of its content."""
    entries = list(getattr(error, "error_log", None) or ())
    code = _CODE.search(str(error))
    return {
        "lines": [entry.line for entry in entries if entry.line],
        "codes": [code.group()] if code else [entry.type_name for entry in entries if entry.domain_name == "XPATH"],
    }


def limit_memory(most: int) -> None:
    """Let this process have no more than so many bytes of data; Windows and macOS have no such limit."""
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def serve(engine: str) -> None:
    """Answer requests until the input ends."""
    processor = ENGINES[engine]()
    programs: list[Any] = []
    answer: dict[str, Any]
    for line in sys.stdin:
        request = json.loads(line)
        if "compile" in request:
            programs = []
            errors: list[str | None] = []
            for stylesheet in request["compile"]:
                try:
                    programs.append(processor.compile(stylesheet))
                    errors.append(None)
                except Exception as error:  # noqa: BLE001 - whatever an engine says of a rule is the answer
                    programs.append(None)
                    errors.append(_reason(error))
            answer = {"errors": errors}
        else:
            try:
                document = processor.parse(request["apply"])
                others = [processor.parse(text) for text in request.get("others", ())]
                answer = {"texts": [program(document, others) for program in programs]}
            except Exception as error:  # noqa: BLE001 - the type only: the message may hold values of records
                answer = {"error": type(error).__name__, "details": _details(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    prevent_core_dumps()
    if len(sys.argv) > 2:
        limit_memory(int(sys.argv[2]))
    serve(sys.argv[1])
