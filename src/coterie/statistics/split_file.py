"""A split made by hand, as a file: the name of each thing measured, and its budget as exact text."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import yaml

from coterie.budget import as_text, parse_epsilon
from coterie.errors import ParameterError

_ADVICE = (
    "Write one line for each thing measured, as `coterie stats plan --json` names it: 'count | all': 0.5"
)


def read_split(path: Path) -> dict[str, Fraction]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # texts: 0.1 is one tenth
    except OSError as error:
        raise ParameterError(f"The split cannot be read ({error.strerror}).", "Check its path.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ParameterError("The split is not valid YAML.", _ADVICE) from None
    if not isinstance(content, dict) or not content:
        raise ParameterError("The split is not a list of names and budgets.", _ADVICE)
    return {str(name): parse_epsilon(value, f"the budget of '{name}'") for name, value in content.items()}


def split_text(split: Mapping[str, Fraction]) -> str:
    texts = {name: as_text(budget) for name, budget in split.items()}
    return str(yaml.safe_dump(texts, allow_unicode=True, sort_keys=False, width=1000))
