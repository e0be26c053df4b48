"""Synthetic records by MST or AIM of the package dpmm, run in an environment of its own.

    python dpmm_models.py mst EPSILON DELTA SEED INPUT.csv OUTPUT.csv

Values are categories and read as text; the domain is the values that occur. Neighbours add or
remove one person.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM

MODELS = {"mst": MSTGM, "aim": AIMGM}


def main(model: str, epsilon: str, delta: str, seed: str, source: str, target: str) -> None:
    records = pd.read_csv(source, dtype=str, keep_default_na=False)
    labels = {name: sorted(records[name].unique()) for name in records}
    codes = {
        name: records[name].map({v: i for i, v in enumerate(labels[name])}) for name in records
    }
    fitted = MODELS[model](epsilon=float(epsilon), delta=float(delta))
    fitted.set_random_state(np.random.RandomState(int(seed)))
    fitted.set_domain({name: len(values) for name, values in labels.items()})
    fitted.fit(pd.DataFrame(codes).astype(int))
    made = fitted.generate(n_records=len(records))
    texts = {name: [labels[name][int(code)] for code in made[name]] for name in records}
    pd.DataFrame(texts).to_csv(target, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
