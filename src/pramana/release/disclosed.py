"""A certificate as composition sees it."""

from __future__ import annotations

from pramana.guarantees.disclosure import Disclosure
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.release.certificate import Certificate

__all__ = ["disclosed"]


def disclosed(certificate: Certificate) -> Disclosure:
    """What a release shows of its people, and what it promises by itself."""
    attained = [claim.attained for claim in certificate.claims]
    central = next((one for one in attained if isinstance(one, ShuffledPrivacy)), None)
    bounds = [one.link_bound for one in attained if one.link_bound]
    return Disclosure.of(
        certificate.evidence,
        method=certificate.method,
        central=central,
        alone=1 / min(bounds) if bounds and certificate.nature.grouped else None,
        panel=certificate.collected is not None and certificate.collected.panel is not None,
    )
