"""Public names that the corpus uses: the name under which values are stored, and today's name.

The cases call the product by stored names, and results are stored under them. Where a public name
changes, its line here changes and no stored value does. A table is never renamed in the JSON files.
"""

from __future__ import annotations

from collections.abc import Mapping

VERBS = {
    "advise": "advise",
    "attack": "attack",
    "audit": "audit",
    "cluster": "cluster",
    "compare": "compare",
    "crosstab": "crosstab",
    "describe": "describe",
    "design": "design",
    "difference": "difference",
    "independence": "independence",
    "learn": "learn",
    "load": "load",
    "make_keys": "make_keys",
    "mean": "mean",
    "mine_tree": "learn_tree",
    "proportion": "proportion",
    "protect": "protect",
    "quantile": "quantile",
    "ratio": "ratio",
    "rebuild": "synthesize",
    "regress": "regress",
    "save": "save",
    "together": "together",
    "total": "total",
    "verbatim": "unchanged_records",
    "verify": "verify",
}
"""Functions of the package, and methods of its results."""

COLLECT = {
    "Sent": "Sent",
    "answers": "answers",
    "close_survey": "close_survey",
    "load": "load",
    "new_survey": "new_survey",
    "status_of": "status_of",
}
"""Names of ``pramana.collect``."""

CLASSES = {
    "Bins": "Bins",
    "Budget": "Budget",
    "Categories": "Categories",
    "Centroid": "Centroid",
    "Column": "Column",
    "CorrectMatch": "CorrectMatch",
    "Dense": "Dense",
    "DifferentialPrivacy": "DifferentialPrivacy",
    "DoesNotHold": "DoesNotHold",
    "Gaussian": "Gaussian",
    "GivenMatrices": "GivenMatrices",
    "Impossible": "Impossible",
    "Infeasible": "Infeasible",
    "Invariant": "Invariant",
    "InverseFrequency": "InverseFrequency",
    "KAnonymity": "KAnonymity",
    "Ledger": "Ledger",
    "MatricesFromData": "MatricesFromData",
    "Noise": "Noise",
    "NotCovered": "NotCovered",
    "Optimal": "Optimal",
    "Permute": "Permute",
    "PkAnonymity": "PkAnonymity",
    "PrivacyBreach": "PrivacyBreach",
    "Recoding": "Recoding",
    "Replicates": "Replicates",
    "Reports": "AttributeSampling",
    "Resample": "Resample",
    "Retention": "Retention",
    "Role": "Role",
    "Schema": "Schema",
    "ShuffledPrivacy": "ShuffledPrivacy",
    "SingularMatrix": "SingularMatrix",
    "SpontaneousRecognition": "SpontaneousRecognition",
    "UniformMixture": "UniformMixture",
}

ARGUMENTS = {
    "accept_risk": "accept_risk",
    "alpha": "alpha",
    "bottom": "bottom",
    "budget": "budget",
    "by": "by",
    "choices": "choices",
    "closeness": "closeness",
    "clustering": "clustering",
    "columns": "columns",
    "copies": "copies",
    "data": "data",
    "date": "date",
    "delta": "delta",
    "distinct": "distinct",
    "distribution": "distribution",
    "draw": "draw",
    "epsilon": "epsilon",
    "exempt": "exempt",
    "family": "family",
    "file_format": "file_format",
    "household": "household",
    "integers": "integers",
    "identifiers": "identifiers",
    "impossible": "impossible",
    "infer": "infer",
    "joint": "joint",
    "k": "k",
    "key": "key",
    "keys": "keys",
    "kind": "kind",
    "knowledge": "knowledge",
    "l": "l",
    "ledger": "ledger",
    "matrices": "matrices",
    "max_error": "max_error",
    "max_size": "max_size",
    "mechanism": "mechanism",
    "merge": "merge",
    "method": "method",
    "methods": "methods",
    "missing": "missing",
    "missing_codes": "missing_codes",
    "missing_values": "missing_values",
    "noise": "noise",
    "original": "original",
    "plain": "public",
    "publish": "publish",
    "q": "q",
    "randomise": "randomise",
    "rebuild": "synthesis",
    "records": "records",
    "recoding": "recoding",
    "release": "release",
    "replicates": "replicates",
    "response": "response",
    "responses": "responses",
    "retention": "retention",
    "rho1": "rho1",
    "rho2": "rho2",
    "round": "round",
    "scale": "scale",
    "schema": "schema",
    "seed": "seed",
    "sensitive": "sensitive",
    "share": "share",
    "sign_with": "sign_with",
    "simultaneous": "simultaneous",
    "smallest_group": "smallest_group",
    "spread": "spread",
    "stay": "stay",
    "steward_folder": "steward_folder",
    "strata": "strata",
    "t": "t",
    "tables": "tables",
    "target": "target",
    "test": "test",
    "times": "times",
    "to": "to",
    "top": "top",
    "weight": "weight",
    "weighted": "weighted",
    "where": "where",
    "width": "width",
    "xi": "xi",
}

ATTRIBUTES = {
    "asked": "asked",
    "attained": "attained",
    "by": "by",
    "checks": "checks",
    "coefficients": "coefficients",
    "columns": "columns",
    "covariance": "covariance",
    "crowd": "anonymity_set",
    "degrees": "degrees",
    "estimate": "estimate",
    "expected_error": "expected_error",
    "high": "high",
    "labels": "labels",
    "low": "low",
    "mechanism": "mechanism",
    "method": "method",
    "name": "name",
    "names": "names",
    "p_value": "p_value",
    "records": "records",
    "role": "role",
    "se": "se",
    "state": "state",
    "statistic": "statistic",
    "table": "table",
    "tables": "tables",
    "unbiased": "unbiased",
    "valid": "valid",
    "value": "value",
}

WORDS = {
    # methods
    "centroid": "centroid",
    "gaussian": "gaussian",
    "invariant": "invariant",
    "inverse-frequency": "inverse-frequency",
    "matrix": "matrix",
    "matrix-from-data": "matrix-from-data",
    "optimal": "optimal",
    "permute": "permute",
    "reports": "attribute-sampling",  # also a kind of release
    "resample": "resample",
    "retention": "retention",
    # kinds of releases
    "groups": "groups",
    "published": "published",
    "sealed": "sealed",
    "withheld": "withheld",
    # guarantees
    "correct-match": "correct-match",
    "differential-privacy": "differential-privacy",
    "k-anonymity": "k-anonymity",
    "pk-anonymity": "pk-anonymity",
    "privacy-breach": "privacy-breach",
    "shuffled-privacy": "shuffled-privacy",
    "spontaneous-recognition": "spontaneous-recognition",
    # roles
    "identifier": "identifier",
    "key": "key",
    "plain": "public",
    "sensitive": "sensitive",
    "weight": "weight",
    # columns that a method adds
    "asked": "reported",
    # methods of estimates
    "as released": "as released",
    "auto": "auto",
    "clipped": "clipped",
    "em": "shrunk",
    "inverse": "unbiased",
    "shrunk": "shrunk",
    # states of a check
    "failed": "failed",
    "proven": "passed",
    "stated": "asserted",
    # what is done to a column, and who can check a guarantee
    "anyone": "anyone",
    "declared": "declared",
    "the owner only": "the owner only",
    "randomised": "randomised",
    "released as it is": "released unchanged",
    "replaced within groups": "replaced within groups",
}
"""Values of arguments, certificates and results that are words of the product."""

CHECKS = {
    "attached columns": "unchanged columns",
    "certificate": "certificate",
    "chosen for": "options",
    "collected": "collected",
    "columns": "columns",
    "crowd": "anonymity set",
    "data": "data",
    "draws": "randomisation",
    "explanations": "explanations",
    "figures and words": "statistics",
    "households": "households",
    "how groups were formed": "how groups were formed",
    "impossible combinations": "impossible combinations",
    "method": "method",
    "order": "shuffle",
    "original records": "original records",
    "records": "records",
    "records with the same keys": "records with the same keys",
    "records with their own keys": "records with their own keys",
    "records word for word": "unchanged records",
    "replicate weights": "replicate weights",
    "sets asked for": "attribute sets",
    "share within groups": "share within groups",
    "signature": "signature",
    "standard errors": "standard errors",
    "steps": "steps",
    # of single columns or tables: one entry for all of them
    "draws: ...": "randomisation: ...",
    "copy ...": "copy ...",
    "domain of ...": "domain of ...",
    "matrix of ...": "matrix of ...",
    "reports of ...": "reports of ...",
    "sets beside ...": "attribute sets and ...",
    "transitions of ...": "transitions of ...",
    "... as it is": "... unchanged",
    "... in its bins": "... in its bins",
    "... with its noise": "... with its noise",
}
"""Names of the checks of ``verify``, beside those of guarantees."""

KEYS = {
    "allow_verbatim": "allow_unchanged",
    "attached": "smallest_unchanged_group",
    "crowd": "anonymity_set",
    "figures": "statistics",
    "found": "matched",
    "promised_by": "guaranteed_by",
    "promises": "attained_guarantees",
    "rebuild": "synthesis",
    "rebuilt": "synthesized",
    "released_as_they_are": "released_unchanged",
    "uniques_found": "uniques_matched",
    "verbatim": "unchanged_records",
    "words": "text_version",
}
"""Keys of certificates and of the plain form of results, where they changed or soon will."""

PROSE = frozenset(
    {
        "assumption",
        "choice",
        "consent",
        "detail",
        "expected_error",
        "how",
        "lacks",
        "maker",
        "not_covered",
        "note",
        "notes",
        "seed",
        "sentence",
        "sentences",
        "statement",
        "target",
        "text",
        "uncovered",
        "version",
        "when",
        "why",
        "words",
    }
)
"""Stored keys whose values are sentences or change with every build: no part of the corpus."""

BUILD = frozenset({"data", "digest", "format", "measuring", "seconds", "signature"})
"""Stored keys whose values belong to the bytes of files or to the clock."""


def stored_word(word: str) -> str:
    """The name under which a word of the product is stored; any other text stays as it is."""
    return _stored(WORDS, word)


def stored_check(name: str) -> str:
    """The name under which a check is stored; those of single columns have one in common.

    >>> stored_check("matrix of age")
    'matrix of ...'
    """
    for stored, today in CHECKS.items():
        first, dots, last = today.partition("...")
        if name == today or (dots and name.startswith(first) and name.endswith(last)):
            return stored
    return stored_word(name)


def stored_key(key: str) -> str:
    """The name under which a key of a certificate or result is stored."""
    return _stored(KEYS, key)


def _stored(table: Mapping[str, str], today: str) -> str:
    """The stored name, found by today's."""
    return next((stored for stored, current in table.items() if current == today), today)
