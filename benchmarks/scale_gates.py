"""Gates as they are judged: a title, the bound, the figure, and whether it is passed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Gates:
    """Gates as they are judged."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def judge(self, title: str, gate: str, figure: str, passed: bool | None) -> None:
        """Print a gate; None is one that could not be judged here."""
        verdict = {True: "passed", False: "MISSED", None: "not judged"}[passed]
        self.rows.append((title, gate, figure, verdict))
        print(f"  {title:44} {gate:24} {figure:34} {verdict}", flush=True)
