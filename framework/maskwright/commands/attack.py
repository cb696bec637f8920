"""Attacks on a release, by any program: what an intruder could infer, scored with the original."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, read_rule_files
from maskwright.commands.pairing import pair_files
from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import DeclaredVariables, Rules, edits_of
from maskwright.data.dependencies import CERTAINTY
from maskwright.disclosure.attacked import AttackResult, attack_results
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.progress import Logged, Reporter, stage
from maskwright.masking.protecting.processes import report_compilation
from maskwright.plugins.contract import contract_error
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.plugins.registry import find_attack, plugins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.frame_libraries import Data
    from maskwright.edits.edit_set import EditSet
    from maskwright.plugins.attack import Attack


def attack(
    released: Data,
    original: Data,
    attacks: Sequence[str | Attack] = (),
    *,
    edits: Rules | None = None,
    key: str | None = None,
    declared: DeclaredVariables | None = None,
    certainty: float = CERTAINTY,
    reporter: Reporter | None = None,
) -> list[AttackResult]:
    """What can be inferred about the cells that a release does not show.

    Parameters
    ----------
    released, original : Dataset or data frame
        Records are paired in order, or by `key`. The attacks read the release; the original only counts how often they
        are right.
    attacks : sequence of str or Attack, optional
        Names of attacks, or attacks that are not installed; by default all that are.
    edits : EditSet or sequence of rules, optional
        That are published with the release.
    key : str, optional
        Variable that identifies a record in both files; it is no part of the attack.
    declared : mapping of name to declaration, optional
        For data frames.
    certainty : float, default 0.9
        Share of its claims of which an intruder has to be sure.
    reporter : Reporter, optional
        Receives stages; by default the logger ``maskwright`` does.

    Returns
    -------
    list of AttackResult
        One for each attack and variable of which the attack names hidden cells.

    Raises
    ------
    InputError
        Unknown attacks; files whose records are not paired.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> original = pd.DataFrame({"code": list("aabbccdd") * 20, "label": list("AABBCCDD") * 20})
    >>> released = original.copy()
    >>> released.loc[:3, "code"] = None
    >>> [(each.claims, each.right, each.decision) for each in mw.attack(released, original, ["dependency"])]
    [(4, 4, 'certain')]
    """
    before, after = dataset_of(original, declared, "original"), dataset_of(released, declared, "released")
    return _results(before, after, attacks, edits_of(edits), key, certainty, reporter or Logged())


def attack_files(
    released: Path,
    original: Path,
    attacks: Sequence[str],
    *,
    edits: Sequence[Path],
    key: str | None,
    certainty: float = CERTAINTY,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
) -> list[AttackResult]:
    """Attack a released file."""
    one, other = data_files((original, released), options)
    with stage(reporter, "Reading"):
        before = load(replace(one, cluster=None), identifiers=True)
        after = load(replace(other, cluster=None), identifiers=True, may_lack="anything")
    return _results(before, after, attacks, read_rule_files(edits), key, certainty, reporter)


def _results(
    before: Dataset,
    after: Dataset,
    attacks: Sequence[str | Attack],
    edits: EditSet,
    key: str | None,
    certainty: float,
    reporter: Reporter,
) -> list[AttackResult]:
    if not 0.5 < certainty < 1:
        raise InputError(f"certainty is a share above 0.5 and below 1, not {certainty:g}")
    if key is None and len(before) != len(after):
        message = f"the original has {len(before)} records and the release {len(after)}: they cannot be paired in order"
        raise InputError(Problem(message, hint="Name a variable that identifies a record in both files: --key NAME."))
    before, after = pair_files(before, after, key, reporter)
    # Without a key records are paired in order: who gives data of which records were left out has done so before.
    before = before if key is None or after.origin is None else before.taken(after.origin)
    if not set(before.names) & set(after.names):
        raise InputError("the original and the release have no variable in common")
    chosen = [find_attack(each) if isinstance(each, str) else _checked(each) for each in attacks]
    chosen = chosen or list(plugins().attacks.values())
    found: list[AttackResult] = []
    for each in chosen:
        with stage(reporter, f"Attack: {each.name}"), report_compilation(reporter):
            found += attack_results([(each, each.params())], before, after, edits, certainty)
    return sorted(found, key=lambda each: after.names.index(each.variable))


def _checked(attack: Attack) -> Attack:
    """An attack that is not installed, guarded as one that is."""
    wrong = contract_error("attack", attack)
    if wrong is not None:
        raise InputError(f"the attack {attack.name!r} {wrong}")
    return guarded(attack, "attack", "", "")
