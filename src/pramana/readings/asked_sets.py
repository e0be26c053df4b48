"""The sets of a release by reports, as analysts rely on them: forged ones are refused in a line."""

from __future__ import annotations

import math

from pramana.errors import AlteredRelease
from pramana.matrices.reporting import Reporting
from pramana.readings.records import ReleasedRecords
from pramana.release.certificate import Certificate
from pramana.release.ties import label_ties
from pramana.release.told import LOOK

__all__ = ["reporting_of", "require_sets"]


def reporting_of(records: ReleasedRecords) -> Reporting:
    """The sets."""
    mechanism = records.certificate.mechanism
    assert isinstance(mechanism, Reporting)  # noqa: S101 - the certificate has looked
    return mechanism


def require_sets(certificate: Certificate) -> None:
    """Refuse a certificate whose sets are not of its columns, hide nothing or tell nothing."""
    if not isinstance(certificate.mechanism, Reporting):
        return
    for check in label_ties(certificate):
        if not check.ok:
            raise AlteredRelease(
                f"The certificate does not fit itself ({check.name}): {check.detail}. {LOOK}"
            )
    if math.isinf(certificate.mechanism.gamma):
        raise AlteredRelease(f"The certificate states reports that are the truth. {LOOK}")
    drawn = (own.matrix for own in certificate.mechanism.sets if own.matrix.size > 1)
    if any(float(matrix.gamma) <= 1 for matrix in drawn):
        raise AlteredRelease(f"The certificate states reports of nothing but chance. {LOOK}")
