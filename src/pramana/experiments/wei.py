"""k-anonymous data that keep their distribution, and prediction in a new market [Wei, Sec. 4].

Re-identification (Figures 3 to 5), prediction with protection (Figure 6), with market shift
(Tables 1 and 2), and with both (Figures 7 to 10).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from pramana.base.randomness import Keystream
from pramana.experiments.harness import (
    Experiment,
    Finding,
    Picture,
    Setting,
    Size,
    columns_of,
    histograms,
    lines,
    panels,
)
from pramana.experiments.insurance import (
    CELLS,
    LOADINGS,
    Form,
    Insured,
    Score,
    Split,
    anonymised,
    group,
    load_people,
    make_markets,
    make_splits,
    make_states,
    market_weight,
    mean_score,
    reidentified,
    score,
)
from pramana.types import FloatArray

TITLE = "Distribution-preserving k-anonymity and the risk of a new market"

Scores = dict[tuple[Any, ...], Score]

FORMS: tuple[Form, ...] = ("dummy", "numeric")
FEW = "a quick run has few people and splits, and what they differ by is in every bias: of 18 seeds"
QUICK_SHIFT = f"{FEW} 10 show it; whole runs decide"
QUICK_CURVES = f"{FEW} 17 show it; whole runs decide"
SHIFTS = ("none", "logistic", "nonparametric")
METHODS = ("centroid", "resample", "gaussian")
AT_K = 10
LARGE_MAJORITY = 2 / 3
SAME, NEW = "same market", "new markets"
EQUAL = "resample, equal weights"
"""Protected by resample and measured as if each record stood for as many people as any other."""


@dataclass(frozen=True)
class _Sizes:
    """How many markets, splits and trials.

    Attributes:
        markets: New markets of Tables 1 and 2.
        curve_markets: New markets of Figures 7 to 10.
        splits: Divisions of the people of Tables 1 and 2.
        curve_splits: Divisions of the people of Figures 6 to 10.
        trials: Releases of Figures 3 and 4, for k = 5 and k = 10.
        curve_trials: Releases for every other k of Figure 5.
        ks: The k of Figures 5 to 10.
    """

    markets: int
    curve_markets: int
    splits: int
    curve_splits: int
    trials: tuple[int, int]
    curve_trials: int
    ks: tuple[int, ...]


KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_SIZES: dict[Size, _Sizes] = {
    "quick": _Sizes(4, 2, 6, 1, (1, 1), 1, (5, 50)),
    "usual": _Sizes(18, 6, 200, 20, (500, 500), 20, KS),
    "full": _Sizes(18, 18, 200, 200, (1_000, 2_000), 200, KS),
}
"""``full`` has the trials and splits of the paper."""


def steps(size: Size) -> int:
    """Splits, points of the curves, and the attacks."""
    sizes = _SIZES[size]
    return sizes.splits + len(sizes.ks) * (sizes.curve_splits + 1) + 3


def run(setting: Setting) -> Experiment:
    """Everything on the same people, markets and splits."""
    sizes, people = _SIZES[setting.size], load_people(setting)
    markets = make_markets(sizes.markets, setting)
    splits = make_splits(people, sizes.splits, setting.keystream)
    shifted = _tables(people, markets, splits, setting)
    curves = _curves(people, markets, splits[: sizes.curve_splits], sizes, setting)
    attacks = _attacks(people, splits[0], sizes, setting)
    states = _states(people, make_states(18, setting), splits[: sizes.curve_splits])
    loadings = _loadings(people, splits[0], sizes, setting)
    findings = (
        *_shift_findings(shifted, QUICK_SHIFT if setting.quick else ""),
        *_curve_findings(curves, sizes.ks, QUICK_CURVES if setting.quick else ""),
        *_attack_findings(attacks),
        _loading_finding(loadings),
        *_state_findings(states),
    )
    return Experiment(
        data=people.words,
        findings=findings,
        tables=_columns(shifted, curves, attacks) | {"loadings": loadings, "states": states},
        pictures=_pictures(curves, attacks, sizes.ks),
        remarks=(
            f"{sizes.markets} markets, simulated by tilting the demographics at random, instead "
            f"of the 18 rating areas of California; {sizes.splits} splits, each division of the "
            "people used both ways.",
            "Keys: sex, 8 groups of age, 6 levels of education, 5 of income; response: the cost of "
            "a year, which weighs as much as a key in the clustering.",
            "In Tables 1 and 2 the people enrolled are unchanged; in protected_*.csv they are "
            f"released at k = {AT_K}, with dummy-coded and with numeric variables.",
            f"Figures 7 to 10 average over {sizes.curve_markets} new markets: sizes of the bias, "
            "R squared and intersection.",
        ),
    )


def _scored(
    people: Insured,
    split: Split,
    released: dict[str, Any],
    markets: dict[str, FloatArray],
    forms: tuple[Form, ...] = FORMS,
) -> Iterator[tuple[tuple[str, str, str, str], Score]]:
    """(release, market, shift, form), and its score; the same market needs no weights."""
    existing, _, _ = people.sums(people.cells[split.train], split.train)
    tested, _, _ = people.sums(people.cells[split.test], split.test)
    for market, tilt in markets.items():
        for shift in ("none",) if market == SAME else SHIFTS:
            weight = market_weight(shift, existing, tilt * tested)
            for (name, cells), form in product(released.items(), forms):
                result = score(people, split, cells, tilt=tilt, weight=weight, form=form)
                yield (name, market, shift, form), result


# -- Tables 1 and 2, and the same at k = 10 ------------------------------------------------


def _tables(
    people: Insured, markets: dict[str, FloatArray], splits: list[Split], setting: Setting
) -> Scores:
    """(protection, market, shift, form) -> average score."""
    scores: dict[tuple[Any, ...], list[Score]] = {}
    equal = replace(people, weight=np.ones(people.size))
    for number, split in enumerate(splits):
        stream = Keystream.from_seed(setting.seeded(1, number))
        grouped = group(people, split.enrolled, k=AT_K, keystream=stream)
        released = anonymised(grouped, methods=("centroid", "resample"), keystream=stream)
        released["original"] = people.cells[split.enrolled]
        equally_weighted = {EQUAL: released["resample"]}
        for insured, cells in ((people, released), (equal, equally_weighted)):
            for key, result in _scored(insured, split, cells, markets):
                scores.setdefault(key, []).append(result)
        setting.advance()
    return {key: mean_score(results) for key, results in scores.items()}


def _shift_findings(shifted: Scores, noise: str) -> tuple[Finding, ...]:
    def biases(form: Form) -> dict[tuple[str, str], float]:
        """The mean over markets of the size of the relative bias, by protection and shift."""
        sizes: dict[tuple[str, str], list[float]] = {}
        for (protection, _, shift, kind), results in shifted.items():
            if kind == form:
                sizes.setdefault((protection, shift), []).append(abs(results.bias))
        return {key: float(np.mean(results)) for key, results in sizes.items()}

    size, line = biases("dummy"), biases("numeric")
    weighted = (
        "resample keeps the distribution of keys among records, and the survey's weights do not "
        f"follow the keys: with equal weights {size[EQUAL, 'nonparametric']:.2%} with, "
        f"{size[EQUAL, 'none']:.2%} without"
    )

    def words(protection: str) -> str:
        with_, without = size[protection, "nonparametric"], size[protection, "none"]
        return f"{with_:.2%} with, {without:.2%} without"

    def halved(protection: str) -> bool:
        return size[protection, "nonparametric"] <= 0.5 * size[protection, "none"]

    spoilt = size["centroid", "nonparametric"] / size["resample", "nonparametric"]
    return (
        Finding(
            "Do nonparametric weights at least halve the bias of the dummy-coded model?",
            "0.79 % with, 3.06 % without (Table 1)",
            words("original"),
            halved("original"),
            "at most half of the bias without",
        ),
        Finding(
            "Do logistic weights help less than nonparametric ones?",
            "2.46 % on average",
            f"{size['original', 'logistic']:.2%}",
            size["original", "logistic"] > size["original", "nonparametric"],
            "a larger bias than nonparametric ones",
        ),
        Finding(
            f"Does it stay so on data protected by resample at k = {AT_K}?",
            "bias stays low (Figure 8)",
            words("resample"),
            halved("resample"),
            "at most half of the bias without",
            weighted if halved(EQUAL) else "",
        ),
        Finding(
            f"Does protection by centroid at k = {AT_K} spoil it?",
            "yes: covariate shift methods fail (Figure 7)",
            f"{words('centroid')}: {'halved' if halved('centroid') else 'not halved'}, and "
            f"{spoilt:.1f} times the bias under resample",
            halved("original")  # else there is nothing to spoil
            and (not halved("centroid") or spoilt > 1.5),
            "halved on data as they are; and not halved here, or more than 1.5 times the "
            "bias under resample",
            noise,
        ),
        Finding(
            "Do nonparametric weights lower the bias of the numeric model too?",
            "0.75 % with, 1.65 % without (Table 2)",
            f"{line['original', 'nonparametric']:.2%} with, {line['original', 'none']:.2%} without",
            line["original", "nonparametric"] < line["original", "none"],
            "a smaller bias with weights",
        ),
        Finding(
            f"Does centroid at k = {AT_K} spoil the numeric model less than the dummy-coded one?",
            "yes: the bias hardly deteriorates without weights (Figures 6C and 7C)",
            f"{line['centroid', 'none']:.2%} against {size['centroid', 'none']:.2%} without, "
            f"{line['centroid', 'nonparametric']:.2%} against "
            f"{size['centroid', 'nonparametric']:.2%} with weights",
            line["centroid", "none"] < size["centroid", "none"],
            "a smaller bias than the dummy-coded model, both without weights",
            noise,
        ),
    )


def _states(people: Insured, states: dict[str, FloatArray], splits: list[Split]) -> dict[str, Any]:
    """Unprotected data in real markets: the size of the bias of each state, by weights."""
    biases: dict[tuple[str, str], list[float]] = {}
    for split in splits:
        original = {"original": people.cells[split.enrolled]}
        for (_, state, shift, _), result in _scored(people, split, original, states, ("dummy",)):
            biases.setdefault((state, shift), []).append(result.bias)
    by_shift = {
        shift: [abs(float(np.mean(biases[state, shift]))) for state in states] for shift in SHIFTS
    }
    return {"state": list(states)} | by_shift


def _state_findings(states: dict[str, Any]) -> tuple[Finding, ...]:
    """Nothing without the records of the states."""
    if not states["state"]:
        return ()
    none, weighted = (float(np.mean(states[shift])) for shift in ("none", "nonparametric"))
    better = sum(np.array(states["nonparametric"]) < np.array(states["none"]))
    return (
        Finding(
            "Do nonparametric weights lower the bias in real markets?",
            "0.79 % with, 3.06 % without, in 18 rating areas (Table 1)",
            f"{weighted:.2%} with, {none:.2%} without, in {len(states['state'])} states; lower in "
            f"{better} of them",
            weighted < none,
            "a smaller bias with weights, averaged over markets",
        ),
    )


# -- Figures 6 to 10: by k -----------------------------------------------------------------


def _curves(
    people: Insured,
    markets: dict[str, FloatArray],
    splits: list[Split],
    sizes: _Sizes,
    setting: Setting,
) -> Scores:
    """(same market or new ones, method, shift, form, k) -> average score.

    Of new markets the size of the bias is averaged: biases of two signs must not cancel.
    """
    scores: dict[tuple[Any, ...], list[Score]] = {}
    tilts = {SAME: np.ones(CELLS)} | dict(list(markets.items())[: sizes.curve_markets])
    for k, (number, split) in product(sizes.ks, enumerate(splits)):
        stream = Keystream.from_seed(setting.seeded(2, k, number))
        grouped = group(people, split.enrolled, k=k, keystream=stream)
        released = anonymised(grouped, methods=METHODS, keystream=stream)
        for (method, market, *rest), result in _scored(people, split, released, tilts):
            scores.setdefault((market, method, *rest, k), []).append(result)
        setting.advance()
    curves: dict[tuple[Any, ...], list[Score]] = {}
    for (market, *rest), by_split in scores.items():
        mean = mean_score(by_split)
        if market == SAME:
            curves.setdefault((SAME, *rest), []).append(mean)
        else:
            curves.setdefault((NEW, *rest), []).append(mean._replace(bias=abs(mean.bias)))
    return {key: mean_score(results) for key, results in curves.items()}


def _curve_findings(curves: Scores, ks: tuple[int, ...], noise: str) -> tuple[Finding, ...]:
    same = {m: [curves[SAME, m, "none", "dummy", k] for k in ks] for m in METHODS}
    kept = {m: (results[0].similarity, results[-1].similarity) for m, results in same.items()}
    bias = {method: [result.bias for result in same[method]] for method in METHODS}
    flat, worst = (max(map(abs, bias[method])) for method in ("resample", "centroid"))
    moved = {method: float(np.ptp(bias[method])) for method in ("resample", "centroid")}
    new = {m: [curves[NEW, m, "nonparametric", "dummy", k] for k in ks] for m in METHODS}
    alike = {m: (results[0].similarity, results[-1].similarity) for m, results in new.items()}
    lost = {m: first - last for m, (first, last) in alike.items()}
    largest = {m: max(result.bias for result in new[m]) for m in METHODS}
    return (
        Finding(
            "Does the similarity to the test data stay for resample and gaussian, and collapse "
            "for centroid?",
            f"nearly constant against 0.17 at k = 1000 (Figure 6E); here up to k = {ks[-1]}",
            ", ".join(f"{m}: {first:.2f} -> {last:.2f}" for m, (first, last) in kept.items()),
            min(kept["resample"][1], kept["gaussian"][1]) > kept["resample"][0] - 0.05
            and kept["centroid"][1] < kept["centroid"][0] - 0.1,
            "lost: at most 0.05 for resample and gaussian, more than 0.1 for centroid",
        ),
        Finding(
            "Does the bias of the dummy-coded model stay flat in k for resample, and not for "
            "centroid?",
            "almost constant, against -53 % at k = 1000 (Figure 6A)",
            f"at most {flat:.1%} for resample, {worst:.1%} for centroid; from the smallest to the "
            f"largest it moves by {moved['resample']:.1%} and {moved['centroid']:.1%}",
            moved["resample"] < 0.5 * moved["centroid"],
            "moves by less than half as much for resample as for centroid",
            noise,
        ),
        Finding(
            "In new markets, does the bias with nonparametric weights stay lower for all k under "
            "resample and gaussian than it gets under centroid?",
            "low and controlled, against unacceptable (Figures 7A, 8A, 9A)",
            ", ".join(f"{m}: at most {largest[m]:.1%}" for m in METHODS),
            max(largest["resample"], largest["gaussian"]) < 0.5 * largest["centroid"],
            "less than half of the largest bias under centroid",
            noise and "a quick run has few people and splits; whole runs decide",
        ),
        Finding(
            "In new markets, does the similarity to the new plans stay for resample and gaussian, "
            "and deteriorate for centroid?",
            "mostly constant, against rapidly (Figure 10)",
            ", ".join(f"{m}: {first:.2f} -> {last:.2f}" for m, (first, last) in alike.items()),
            lost["centroid"] > 0.2
            and max(lost["resample"], lost["gaussian"]) < lost["centroid"] / 4,
            "centroid loses more than 0.2, the others less than a quarter of that",
        ),
    )


# -- Figures 3 to 5 ------------------------------------------------------------------------


def _attacks(
    people: Insured, split: Split, sizes: _Sizes, setting: Setting
) -> dict[tuple[int, str], FloatArray]:
    """(k, method) -> frequency of re-identification of each record."""
    rows = split.enrolled
    frequencies: dict[tuple[int, str], FloatArray] = {}
    plans = list(zip((5, 10), sizes.trials, strict=True))
    plans += [(k, sizes.curve_trials) for k in sizes.ks if k not in (5, 10)]
    for k, trials in plans:
        stream = Keystream.from_seed(setting.seeded(3, k))
        shares = reidentified(people, rows, k=k, methods=METHODS, trials=trials, keystream=stream)
        frequencies |= {(k, method): values for method, values in shares.items()}
        setting.advance()
    for _ in range(sizes.ks.count(5) + sizes.ks.count(10)):
        setting.advance()
    cells = people.cells[rows]
    return {key: _by_class(values, cells) for key, values in frequencies.items()}


def _loadings(people: Insured, split: Split, sizes: _Sizes, setting: Setting) -> dict[str, Any]:
    """At k = 5, for each loading of the Gaussian dither, how often records are found again."""
    frequencies = reidentified(
        people,
        split.enrolled,
        k=5,
        methods=tuple(LOADINGS),
        trials=sizes.curve_trials,
        keystream=Keystream.from_seed(setting.seeded(4, 5)),
    )
    setting.advance()
    average = [float(frequencies[name].mean()) for name in LOADINGS]
    return {"loading": list(LOADINGS.values()), "average": average}


def _loading_finding(loadings: dict[str, Any]) -> Finding:
    average = loadings["average"]
    return Finding(
        "Does less loading of the Gaussian dither re-identify more?",
        "yes; 1/3 is taken (Section 4.3)",
        "; ".join(
            f"alpha {loading:.2g}: {share * 5:.2f} / k"
            for loading, share in zip(loadings["loading"], average, strict=True)
        ),
        average == sorted(average, reverse=True) and average[0] <= 1 / 5,
        "falls with each larger loading, and is at most 1/k",
    )


def _by_class(values: FloatArray, cells: Any) -> FloatArray:
    """Two rows: the mean of each equivalence class, and its number of records."""
    _, where, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.stack([np.bincount(where.ravel(), values) / counts, counts.astype(np.float64)])


def _average(classes: FloatArray) -> float:
    return float((classes[0] * classes[1]).sum() / classes[1].sum())


def _attack_findings(attacks: dict[tuple[int, str], FloatArray]) -> tuple[Finding, ...]:
    ks = sorted({k for k, _ in attacks})
    above = max(_average(attacks[k, m]) * k for k in ks for m in METHODS)
    low = [_average(attacks[k, "gaussian"]) / _average(attacks[k, "resample"]) for k in (5, 10)]
    classes = attacks[5, "resample"].shape[1]
    better = [_no_riskier(attacks, k) for k in (5, 10)]
    large = [_no_riskier(attacks, k, least=k) for k in (5, 10)]
    return (
        Finding(
            "Is the average frequency of re-identification below 1/k for every method and k?",
            "yes (Figure 5); 310 equivalence classes",
            f"at most {above:.2f} / k; {classes} equivalence classes",
            above <= 1,
            "at most 1/k for each",
        ),
        Finding(
            "Is it far lower for gaussian than for resample at k = 5 and 10?",
            "yes (Figures 3 and 4)",
            f"{low[0]:.2f} and {low[1]:.2f} times",
            max(low) < 0.5,
            "below half",
        ),
        Finding(
            "Is resample at most as risky as centroid for a large majority of equivalence classes?",
            "for a large majority (Figures 3D and 4D)",
            f"for {better[0]:.0%} of them at k = 5 and {better[1]:.0%} at k = 10; of those with at "
            f"least k records for {large[0]:.0%} and {large[1]:.0%}",
            min(better) >= LARGE_MAJORITY,
            "for two thirds of the classes, at both k",
            f"there are {classes} classes instead of 310, many of fewer than k records: centroid "
            "merges these with others, where they are found less often"
            if min(large) >= LARGE_MAJORITY
            else "",
        ),
    )


def _no_riskier(attacks: dict[tuple[int, str], FloatArray], k: int, least: int = 1) -> float:
    """The share of the classes of this many records where resample is at most as risky."""
    chosen = attacks[k, "resample"][1] >= least
    return float((_differences(attacks, k)[chosen] <= 0).mean()) if chosen.any() else 0.0


def _differences(attacks: dict[tuple[int, str], FloatArray], k: int) -> FloatArray:
    """By class, the frequency under resample less that under centroid."""
    difference: FloatArray = attacks[k, "resample"][0] - attacks[k, "centroid"][0]
    return difference


# -- what is written -----------------------------------------------------------------------


def _columns(
    shifted: Scores, curves: Scores, attacks: dict[tuple[int, str], FloatArray]
) -> dict[str, dict[str, Any]]:
    files = {("original", "dummy"): "table_1", ("original", "numeric"): "table_2"}
    for protection in ("resample", "centroid"):
        files[protection, "dummy"] = f"protected_{protection}"
        files[protection, "numeric"] = f"protected_{protection}_numeric"
    markets = list(dict.fromkeys(market for _, market, _, _ in shifted))
    tables: dict[str, dict[str, Any]] = {}
    for (protection, form), file in files.items():
        tables[file] = {"market": markets}
        for what, shift in product(("r_squared", "bias"), SHIFTS):
            tables[file][f"{what}_{shift}"] = [
                getattr(shifted[protection, market, shift, form], what) for market in markets
            ]
    names = ("market", "method", "shift", "form", "k")
    measures = ("bias", "r_squared", "similarity")
    tables["by_k"] = columns_of(
        [
            dict(zip(names, key, strict=True)) | {what: getattr(results, what) for what in measures}
            for key, results in curves.items()
        ]
    )
    tables["reidentification"] = columns_of(
        [
            {
                "k": k,
                "method": method,
                "average": _average(results),
                "largest_of_a_class": float(results[0].max()),
            }
            for (k, method), results in attacks.items()
        ]
    )
    return tables


def _pictures(
    curves: Scores, attacks: dict[tuple[int, str], FloatArray], ks: tuple[int, ...]
) -> dict[str, Picture]:
    pictures: dict[str, Picture] = {}
    for number, k in ((3, 5), (4, 10)):
        pictures[f"figure_{number}"] = histograms(
            f"Figure {number}: re-identification by equivalence class, k = {k}",
            "frequency",
            "classes",
            {method: attacks[k, method][0].tolist() for method in METHODS},
            level=1 / k,
            note="The dashed line is 1 / k.",
        )
        pictures[f"figure_{number}d"] = histograms(
            f"Figure {number}D: resample less centroid by equivalence class, k = {k}",
            "difference of frequencies",
            "classes",
            {"resample - centroid": _differences(attacks, k).tolist()},
            level=0.0,
        )
    tried = sorted({k for k, _ in attacks})
    averages = {m: (tried, [_average(attacks[k, m]) for k in tried]) for m in METHODS}
    pictures["figure_5"] = lines(
        "Figure 5: average frequency of re-identification",
        "k",
        "frequency",
        averages | {"1 / k": (tried, [1 / k for k in tried])},
        log_x=True,
        log_y=True,
    )

    def curve(what: str, *key: str) -> tuple[list[int], list[float]]:
        return list(ks), [getattr(curves[*key, k], what) for k in ks]

    measures = [*product(("bias", "r_squared"), FORMS), ("similarity", "dummy")]
    pictures["figure_6"] = _by_k(
        "Figure 6: no shift, by method",
        {
            (what, form): {m: curve(what, SAME, m, "none", form) for m in METHODS}
            for what, form in measures
        },
    )
    for number, method in enumerate(METHODS, 7):
        pictures[f"figure_{number}"] = _by_k(
            f"Figure {number}: {method}, {NEW}, by weights",
            {
                (what, form): {shift: curve(what, NEW, method, shift, form) for shift in SHIFTS}
                for what, form in measures[:-1]
            },
        )
    pictures["figure_10"] = _by_k(
        "Figure 10: histogram intersection with the new plans",
        {
            ("similarity", m): {s: curve("similarity", NEW, m, s, "dummy") for s in SHIFTS}
            for m in METHODS
        },
    )
    return pictures


def _by_k(title: str, series: dict[tuple[str, str], dict[str, Any]]) -> Picture:
    """One panel for each measure and form."""
    words = {"bias": "relative bias", "r_squared": "R squared", "similarity": "intersection"}
    parts = {
        f"{words[what]}, {form}": lines("", "k", words[what], curves, log_x=True)
        for (what, form), curves in series.items()
    }
    return panels(title, parts)
