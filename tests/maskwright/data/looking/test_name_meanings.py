"""What names of variables mean, in several languages."""

from __future__ import annotations

import pytest

from maskwright.data.profiling.column_profile import KEYS, meaning_of

MEANINGS = {
    "identifier": "UTILITYID persona_id PersonID ident Passport_No correo_id lfdnr",
    "household": "hogar_id HaushaltsNr HHID household household_id DB030",
    "household size": "hhsize household_size tamaño_hogar Haushaltsgröße hh_size",
    "age": "age AGE alter edad eta leeftijd age_group",
    "sex": "sex Geschlecht sexo sexe gender RB090",
    "region": "region region_id NUTS2 provincia Bundesland municipality_name plz comune",
    "occupation": "ISCO08 occupation Beruf ocupacion profession",
    "education": "ISCED education Bildungsstand estudios istruzione",
    "nationality": "nationality Staatsangehörigkeit nacionalidad citizenship country_of_birth",
    "birth": "Geburtsdatum fecha_nacimiento year_of_birth dob",
    "weight": "weight Gewicht AFNLWGT peso pw_weight PB040 poids",
    "money": "income Nettoeinkommen renta_total household_income salario wages TAX_paid Umsatz",
    "a person's name": "nombre Nachname lastName apellidos FamilyName",
}
SILENT = "V3 unpaid covid codigo observaciones percentage stage status x hours"


@pytest.mark.parametrize(
    ("meaning", "name"), [(each, name) for each, names in MEANINGS.items() for name in names.split()]
)
def test_names_mean_something(meaning: str, name: str) -> None:
    assert meaning_of(name) == meaning


@pytest.mark.parametrize("name", SILENT.split())
def test_other_names_say_nothing(name: str) -> None:
    assert meaning_of(name) is None


def test_every_key_is_listed() -> None:
    assert set(KEYS) - set(MEANINGS) == {"marital status", "industry"}
    assert meaning_of("Familienstand") == "marital status"
    assert meaning_of("nace_rev2") == "industry"
