"""The mechanism on the same people once more, with the pairing kept in memory.

Released records are shuffled, and nobody keeps who is who. To see how often an attack on these
people is right, the owner of the truth runs the published mechanism on it again, with words of its
own, attacks that table, and compares with the pairing. What is measured is the mechanism on these
people: the chance, over its randomness, that an attack succeeds.
"""

from __future__ import annotations

import numpy as np

from pramana.attacks.records import Records
from pramana.attacks.reported import rerun_reports
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.reporting import Reporting
from pramana.randomise.sampling import randomise, sample_by_stratum
from pramana.randomness import Address, Keystream, Stream
from pramana.types import IntArray

__all__ = ["rerun"]


def rerun(
    mechanism: Mechanism, truth: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh released codes for the same people, record by record."""
    if isinstance(mechanism, Reporting):
        return rerun_reports(mechanism, truth, keystream=keystream, stream=stream)
    drawn: list[IntArray] = []
    for place, (step, codes) in enumerate(zip(mechanism, truth.codes, strict=True)):
        name = Stream(stream, place)
        own = codes.astype(np.uint32)
        strata = truth.strata[place]
        if strata is None:
            made = randomise(step.matrices[0], own, keystream=keystream, stream=name)
        else:
            words = keystream.words(name, 0, len(own))
            made = sample_by_stratum(step.matrices, strata, own, words)
        drawn.append(made.astype(np.int64))
    return truth.with_codes(drawn)
