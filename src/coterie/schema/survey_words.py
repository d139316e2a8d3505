"""Words by which surveys and registers name things: weights, households, numbers of persons, marks of missing values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Parts of column names, in English and a few neighbours.
IDENTIFIER = _set(
    "id ids uid uuid pid caseid casenr caseno ident identifier idno idnr serial serialno record recordno respid respnr "
    "respondent personid persnr persnum persid pnr ssn mrn iban email mail phone telephone mobile name "
    "firstname lastname surname forename vorname nachname address street strasse username passport licence ahv lfdnr "
    "seqn sequ idperson idind studentid patientid matrikel folio"
)
HOUSEHOLD = _set(
    "household households hh hid hserial hhseq haushalt huishouden menage foyer logement hogar vivienda famiglia family "
    "dwelling gosp gospodarstwo domicilio familia"
)
UNIT = HOUSEHOLD | _set(
    "cluster psu upa conglomerado grappe firm company enterprise employer betrieb firma empresa entreprise school sch "
    "schule ecole escuela escola szkola class patient paciente historia dossier"
)
WEIGHT = _set(
    "weight weights wgt wgts wt wght weigth weighting pweight dweight aweight pspwght pweigt hhweight perweight hhwt perwt "
    "gewicht poids peso pond ponderation ponderacion pondera expansion elevacion grossing fweight coef coeff extrapolation "
    "redressement hochrechnung vikt waga vaegt"
)
_WEIGHT = re.compile(r"(.*wgt|wt)[a-z0-9]*|.{2,}wt[0-9]*")
_NUMBERED = ("id", "no", "nr", "num", "number", "code", "key", "serial", "seq", "ident", "identification")
_QUANTITY_LABEL = re.compile(
    r"(age\b|number of|how many|how much|years? of|hours|minutes|total|amount|monthly|weekly|net |gross )",
    re.IGNORECASE,
)
_HOW_MANY = ("n", "anz", "nb", "antal", "aantal", "nombre", "liczba", "number", "size")
_COUNT = (*_HOW_MANY, "num", "no", "nr", "numero")  # these may also say which one
_BODY = _set(
    "kg kilo kilos lb lbs pound pounds body birth bmi gram grams g koerper corporal corporel ciala masa"
)
# What is counted or measured: a number, however few of them occur.
QUANTITY = _set(
    "age alter years year hours hour minutes min mins days day weeks months count number num size children kids persons "
    "people members rooms cars visits times units amount income wage salary earnings pay price cost costs tax rent "
    "turnover height length distance km points score bmi weight kg cm mm temperature pressure dose rate ratio percent pct "
    "share sales expenditure spending revenue value total tot sum quantity qty duration los stays beds jahre stunden anzahl "
    "kinder einkommen lohn miete groesse punkte cigarettes drinks siblings episodes"
)
_AGE = _set("edad idade wiek leeftijd eta ans anos lat")  # as whole words: `cidade` is a town
# What is coded: labels, however many of them occur.
CODE = _set(
    "code codes isco isco08 nace isic nuts lau region reg country cntry state county district municipality commune canton "
    "department dept postcode postal zip plz icd icd10 atc drg ward clinic occupation occ industry sector ind branch "
    "nationality citizenship birthplace cob language religion ethnicity race isced field subject course diagnosis diag type "
    "status sex gender geschlecht land kreis gemeinde beruf station stratum strata "
    "uf cnae cnes grd ghm dienststelle bezirk amt wojewodztwo woj powiat gmina departement provincia municipio distrito "
    "concelho freguesia cidade sexo sexe plec"
)
MARK_NOTE = _set("mark marks grade grades note grading")
_CHANGE = _set(
    "change diff difference balance delta growth profit gain loss temperature latitude longitude lat lon"
)
# Words that mean 'missing': in the label of a code anywhere, of a text alone.
_MISSING_WORDS = (
    r"refus(?:ed|al)?|don.?t\s+know|do not know|no\s+answer|no\s+data|not\s+applicable|not\s+ascertained|\bn/?a\b|missing|"
    r"not\s+stated|inapplicable|no\s+response|non.?response|unknown|not\s+available|not\s+known|can.?t\s+say|prefer\s+not|"
    r"not\s+asked|not\s+reported|undetermined|implausible|not\s+in\s+universe|skip|keine\s+(?:angabe|antwort)|"
    r"wei(?:ß|ss)\s+nicht|verweigert|trifft\s+nicht\s+zu|weet\s+niet|geen\s+antwoord|vet\s+(?:ej|inte)|ved\s+ikke|"
    r"uppgift\s+saknas|sans\s+r[ée]ponse|ne\s+sait\s+pas|no\s+sabe|no\s+contesta|no\s+responde|n[ãa]o\s+sabe|"
    r"non\s+(?:s[ao]|risponde|disponibile)\b|rifiut|nie\s+wiem|brak\s+(?:danych|odpowiedzi)|odmowa|nie\s+dotyczy|trudno\s+powiedzie|ei\s+tietoa|"
    r"unbekannt|entf[äa]llt|ohne\s+angabe|nicht\s+(?:bekannt|erfasst|zutreffend)|non\s+(?:d[ée]clar|renseign|concern)[ée]|"
    r"sans\s+objet|ignorad[oa]|n[ãa]o\s+(?:se\s+aplica|declar|respond|inform|aplic[áa]vel)|sem\s+(?:resposta|declara|informa)|"
    r"no\s+(?:aplica|consta|disponible|procede|especificad|medid)|sin\s+(?:respuesta|dato|informaci)"
)
_MISSING = re.compile(_MISSING_WORDS, re.IGNORECASE)
_GAP = (
    rf"(?i)^\s*(?:{_MISSING_WORDS}|\?\??|-{{1,3}}|\.|n\.[ars]\.|#n/a|nan|null|\(missing\)|k\.? ?a\.?|[kn]/k|s/d|dk|dk/na|"
    r"ns/?n[cr]|nsp)\s*$"
)
# Words of which an ordered scale is made.
_SCALE = re.compile(
    r"agree|satisf|\bnever\b|\brarely\b|\bseldom\b|\bsometimes\b|\boften\b|\balways\b|\bpoor\b|\bfair\b|\bgood\b|\bbad\b|"
    r"excellent|\blow(?:er|est)?\b|\bmedium\b|\bmiddle\b|\bhigh(?:er|est)?\b|\bvery\b|not at all|a little|quite|somewhat|"
    r"extremely|important|likely|\bless\b|\bmore\b|\bfewer\b|under|over|up to|at least|or more|and more|"
    r"primary|secondary|tertiary|bachelor|master|doctor|daily|weekly|monthly|every day|"
    r"occasional|a few|most|times|once|twice|"
    r"\bnone\b|\bsome\b|\ball\b|\bmild\b|\bmoderate\b|\bsevere\b|\bfairly\b|\brather\b|\bslightly\b|a bit|hardly|"
    r"trifft|stimme|selten|manchmal|immer|nie\b|sehr|gut|schlecht|ziemlich|eher|kaum|"
    r"\btrès\b|\bassez\b|\bpeu\b|\bbon(?:ne)?\b|mauvais|moyen|jamais|parfois|souvent|toujours|primaire|secondaire|supérieur|"
    r"mycket|ganska|\binte\b|\bmolto\b|abbastanza|\bbene\b|elementare|superiore|inferiore|heel|tamelijk|bardzo|raczej|"
    r"\bmuy\b|\bpoco\b|bastante|\bbuen[oa]?\b|\bmal[oa]?\b|\bregular\b|nunca|siempre|primari|secundari|"
    r"^[<>≤≥]|[0-9]\s*(?:-|–|to|bis)\s*[0-9]",
    re.IGNORECASE,
)


def parts(name: str) -> tuple[str, ...]:
    """`hhWeight_2` → hh, weight, 2: at capitals, digits and signs; `Número` is numero."""
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", name))
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", plain)
    return tuple(part for part in re.split(r"[\W_]+", split.lower()) if part)


def names(words: Sequence[str], kinds: frozenset[str]) -> bool:
    """Whether one of the parts, or all together, is such a word, or begins or ends with a long one (`hhsize`)."""
    candidates = {*words, *(word.rstrip("0123456789") for word in words), "".join(words)}
    return not candidates.isdisjoint(kinds) or any(
        word.startswith(kind) or word.endswith(kind) for word in words for kind in kinds if len(kind) >= 4
    )


def is_quantity(words: Sequence[str], label: str = "") -> bool:
    """`n_children` counts, whatever it counts; and so says a label such as 'Number of rooms'."""
    counted = (len(words) > 1 and words[0] in _COUNT) or not (QUANTITY | _AGE).isdisjoint(words)
    if counted or not CODE.isdisjoint(words):  # `country` begins as `count` does
        return counted
    return names(words, QUANTITY) or bool(_QUANTITY_LABEL.match(label))


def is_weight(words: Sequence[str], label: str = "") -> bool:
    named = not WEIGHT.isdisjoint(parts(label)) or names(words, WEIGHT) or any(map(_WEIGHT.fullmatch, words))
    return named and not names((*words, *parts(label)), _BODY)


def is_identifier(words: Sequence[str], label: str = "") -> bool:
    said = not {"id", "identification", "identifier", "serial"}.isdisjoint(parts(label))
    return (said or names(words, IDENTIFIER)) and not is_quantity(words, label)


def is_unit(words: Sequence[str], label: str = "") -> bool:
    """The number of a household, school or firm: `hh`, `household_id`; not the size or the income of one."""
    return _is_unit(words) or (_is_unit(parts(label)) and is_identifier((), label))


def is_household(name: str) -> bool:
    return _is_unit(parts(name), HOUSEHOLD)


def _is_unit(words: Sequence[str], units: frozenset[str] = UNIT) -> bool:
    if not words or words[0] in _HOW_MANY or not (QUANTITY - {"number", "num"}).isdisjoint(words):
        return False
    last = words[-1]
    whole = last.rstrip("0123456789") in units or any(_numbers(last, unit) for unit in units)
    return whole or (last in _NUMBERED and not units.isdisjoint(words[:-1]))


def _numbers(word: str, unit: str) -> bool:
    """hhnr, schoolid, idhogar; cntschid too."""
    return word in (*(unit + end for end in _NUMBERED), "id" + unit) or word.endswith(unit + "id")


def is_change(words: Sequence[str]) -> bool:
    return names(words, _CHANGE)


def means_missing(label: str) -> bool:
    """Whether a value label says that there is no answer."""
    return bool(_MISSING.search(label) or re.search(_GAP, label))


def are_gaps(texts: pa.Array | pa.ChunkedArray) -> Any:
    """Which of the texts mean 'missing' wherever they stand."""
    return pc.match_substring_regex(texts, _GAP)


def is_scale(labels: Sequence[str]) -> bool:
    """Whether most of the labels (three at least) are steps of a scale."""
    steps = sum(bool(_SCALE.search(label)) for label in labels)
    return len(labels) >= 3 and steps >= 0.6 * len(labels)
