"""A control group must be people who are not in the release; else the baseline hides the risk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from coterie.attacks.evidence import Seen
from coterie.columns.cells import text_of
from coterie.errors import DataError
from coterie.schema import Role, Schema

_ERROR_RATE = 0.001
_ADVICE = "Take the control group from people of the same population who were not in the protected table."


def refuse_overlap(attributes: Sequence[Seen], original: pa.Table, control: pa.Table, schema: Schema) -> None:
    """By identifier where both tables have one; else by whole rows that occur more often than chance repeats rows."""
    from scipy.special import betainc  # a tenth of a second to load: only those who need it pay

    for attribute in schema.with_role(Role.IDENTIFIER):
        if attribute.name in control.column_names and attribute.name in original.column_names:
            mine, theirs = (
                {text_of(value) for value in table.column(attribute.name).to_pylist()} - {None}
                for table in (original, control)
            )
            if mine & theirs:
                raise DataError(
                    f"The control group overlaps the release: both have people of the same '{attribute.name}'.",
                    _ADVICE,
                )
            return
    originals, controls = _row_codes(attributes)
    copies = np.bincount(originals, minlength=int(controls.max()) + 1)
    shared = int(np.sum(copies[controls] > 0))
    # How often a person of the original has a double there: what chance alone does in such data.
    doubles = float(np.mean(copies[originals] > 1))
    # Pr(at least `shared` of so many people) by the incomplete beta function.
    if shared and betainc(shared, len(controls) - shared + 1, doubles) < _ERROR_RATE:
        raise DataError(
            "The control group overlaps the release: more of its rows stand in the original than would by chance.",
            _ADVICE,
        )


def _row_codes(attributes: Sequence[Seen]) -> tuple[np.ndarray, np.ndarray]:
    codes = np.zeros(len(attributes[0].original) + len(_control(attributes[0])), dtype=np.int64)
    for attribute in attributes:
        both = np.concatenate([attribute.original, _control(attribute)])
        values = np.unique(both, return_inverse=True)[1].astype(np.int64)
        codes = np.unique(codes * (int(values.max()) + 1) + values, return_inverse=True)[1].astype(np.int64)
    people = len(attributes[0].original)
    return codes[:people], codes[people:]


def _control(attribute: Seen) -> np.ndarray:
    assert attribute.control is not None  # only called when there is a control group
    return attribute.control
