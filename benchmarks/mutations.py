"""Releases changed in every way we could think of: none may verify that should not.

Certificates lose, exchange, retype and nest their fields, with a right digest or without; folders
have their files linked, swapped, cut and replaced by pipes and devices. Whatever happens, a
verification must come to a verdict in time, raise nothing but our own errors, open nothing outside
the folder, and call valid only what claims no more than the release that it was made of.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks._measure import Result

CERTIFICATE = "certificate.json"
SLOWEST = 5.0
OWN_WORD = {"seed", "signature", "digest", "guarantees", "households"}
"""Fields that only the owner can speak for; claims are compared by what they promise."""

OWN_FIGURES = {"standard_errors", "unchanged_records", "within_group_share"}
OWN_OPTIONS = {"clustering", "closeness", "distinct", "max_size", "min_size", "response_weight",
               "responses", "allow_unchanged"}  # fmt: skip
"""Counted by the owner, or how groups were formed: the verdict says that it is the owner's word."""

_WATCHED: list[str] = []
_WATCHING = [False]


def arguments(parser):
    """The number of mutations and the seed."""
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)


def run(options):
    """Mutate and verify; the rows say how many mutations of each kind came to which end."""
    from pramana.analysis.release import load_release
    from pramana.verification.verify import verify_folder

    _watch()
    chance = random.Random(options.seed)
    ends: Counter[tuple[str, str]] = Counter()
    why: Counter[str] = Counter()
    wrong: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as place:
        bases = _bases(Path(place))
        for number in range(options.number):
            base = chance.choice(bases)
            folder = Path(place) / "mutant"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(base, folder)
            kind, mutate = chance.choice(MUTATIONS)
            mutate(folder, chance, bases)
            start = time.monotonic()
            end, problem = _ended(verify_folder, load_release, folder, base)
            slowest = max(slowest, time.monotonic() - start)
            if time.monotonic() - start > SLOWEST:
                problem = problem or "too slow"
            ends[kind, end] += 1
            if end == "valid":
                why[_why(folder, base)] += 1
            if problem:
                wrong.append(f"mutation {number} ({kind} of {base.name}): {problem}")
    rows = [(kind, end, f"{count:,}") for (kind, end), count in sorted(ends.items())]
    notes = [f"{options.number:,} mutations, slowest {slowest:.2f} s, {len(wrong)} wrong."]
    told = [f"valid: {text}: {count:,}" for text, count in sorted(why.items())]
    return Result(
        "Mutated releases",
        ("mutation", "verdict", "number"),
        rows,
        notes + wrong[:20] + told,
        wrong=len(wrong),
    )


def _why(folder, base):
    """In what a valid mutant differs from the release that it was made of."""
    one, other = (_leaves(_form(place)) for place in (base, folder))
    paths = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    kinds = sorted({re.sub(r"\[\d+\]", "[]", path) for path in paths} - {"digest"})
    files = [
        file.name
        for file in sorted(base.iterdir())
        if file.name != CERTIFICATE and not _same(folder / file.name, file)
    ]
    more = sorted({file.name for file in folder.iterdir()} - {file.name for file in base.iterdir()})
    parts = [f"certificate {', '.join(kinds)}"] * bool(kinds)
    parts += [f"{name} gone or changed" for name in files] + [f"{name} added" for name in more]
    return "; ".join(parts) or "nothing differs"


def _same(path, other):
    return path.is_file() and not path.is_symlink() and path.read_bytes() == other.read_bytes()


def _leaves(tree, path=""):
    """Every value that is no container, by its path."""
    if isinstance(tree, dict):
        parts = [(f"{path}.{name}".lstrip("."), own) for name, own in tree.items()]
    elif isinstance(tree, list):
        parts = [(f"{path}[{at}]", own) for at, own in enumerate(tree)]
    else:
        return {path: repr(tree)}
    return {key: own for at, part in parts for key, own in _leaves(part, at).items()}


def _ended(verify_folder, load_release, folder, base):
    """The verdict, and what is wrong with it."""
    from pramana.errors import NotARelease, PramanaError

    _WATCHED.clear()
    _WATCHING[0] = True
    try:
        verdict = verify_folder(folder)
        if not verdict.checks[0].ok:  # a certificate that is refused is refused by all
            try:
                load_release(folder)
            except PramanaError:
                pass
            else:
                return "loaded", "a certificate that does not verify was loaded"
    except NotARelease:
        return "refused", None
    except BaseException as error:
        return "crashed", f"{type(error).__name__}: {error}"[:200]
    finally:
        _WATCHING[0] = False
    outside = [path for path in _WATCHED if not _inside(path, folder)]
    if outside:
        return "read", f"opened {outside[0]}"
    if not verdict.valid:
        return "failed", None
    return "valid", _claims_more(folder, base)


def _claims_more(folder, base):
    """What a valid mutant says that the release behind it does not."""
    from pramana.release.folder import read_certificate

    before, after = read_certificate(base), read_certificate(folder)
    one, other = before.to_json(), after.to_json()
    shown = " ".join([*after.sentences(), after.expected_error or "", json.dumps(other["scope"])])
    if any(word in shown for word in FORGED):
        return "valid, and shows a forged sentence"
    changed = _changed(one, other)
    known = _known_methods()
    hidden = before.nature.withholds_matrices  # which of two makers withholds them no stranger sees
    alike = [(known[one.method].kind, hidden or one.method) for one in (before, after)]
    if alike[0] == alike[1]:
        changed.discard("method")
    if _done(before.mechanism) == _done(after.mechanism):
        changed.discard("mechanism")  # the same steps, listed in another order
    promised = {claim.name: claim.attained for claim in before.claims}
    for claim in after.claims:
        if claim.name in promised and not promised[claim.name].implies(claim.attained):
            return f"valid with {claim.attained}, where {promised[claim.name]} holds"
        if claim.name not in promised:
            return f"valid with {claim.attained}, which was not claimed"
    return f"valid with another {', '.join(sorted(changed))}" if changed else None


def _changed(one, other):
    """The fields that differ, but for what is the owner's word."""
    changed = _differing(one, other) - OWN_WORD
    # less is said, and no central epsilon rests on it
    spared = (
        {"smallest_unchanged_group", "statement"}
        if other["anonymity_set"]["smallest_unchanged_group"] is None
        else set()
    )
    for name, free in (
        ("statistics", OWN_FIGURES),
        ("options", OWN_OPTIONS),
        ("anonymity_set", spared),
    ):
        if _differing(one[name], other[name]) <= free:
            changed.discard(name)
    return changed


def _differing(one, other):
    """The names under which two objects differ."""
    return {name for name in {*one, *other} if repr(one.get(name)) != repr(other.get(name))}


def _done(mechanism):
    """What a mechanism does to a record, whatever the order in which it is listed."""
    done = set()
    for form in mechanism.to_json() if mechanism else ():
        matrix = form.get("matrix", {})
        if matrix.get("family") == "uniform-mixture":
            matrix["labels"] = sorted(map(repr, matrix["labels"]))
        done.add(json.dumps(form, sort_keys=True))
    return done


def _known_methods():
    from pramana.release.kinds import METHOD_CLASSES

    return METHOD_CLASSES


# -- what is read ----------------------------------------------------------------------------------


def _watch():
    def hook(event, details):
        if not _WATCHING[0] or event != "open" or not isinstance(details[0], str | bytes):
            return
        nowhere = details[0] == os.devnull and details[2] & os.O_ACCMODE == os.O_RDWR
        if not nowhere:  # where a child that reads statistical files sends what its library prints
            _WATCHED.append(os.fsdecode(details[0]))

    sys.addaudithook(hook)


def _inside(path, folder):
    whole = Path(path).absolute()
    libraries = (*filter(None, sys.path), sys.prefix, sys.base_prefix, "/proc", "/sys")
    code = (".py", ".pyc", ".so", ".txt", ".toml")
    return (
        whole.is_relative_to(folder)
        or whole.suffix in code
        or any(whole.is_relative_to(library) for library in libraries)
    )


NOISE = """
rest = "drop"
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
points = [0, 20, 40, 60, 80]
[columns.region]
role = "public"
[columns.income]
role = "sensitive"
noise = {distribution = "laplace", scale = 1}
"""

# -- releases to begin with ------------------------------------------------------------------------


def _bases(place):
    """A release of every kind, small enough to be verified ten thousand times."""
    import pramana as pm
    from pramana.schema.domains import Bins, Categories
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Impossible, Schema

    draw = np.random.default_rng(1)
    n = 240
    age = draw.integers(0, 80, n)
    people = pa.table({
        "sex": draw.choice(["F", "M"], n), "age": age,
        "marital": np.where(age < 16, "single", draw.choice(["single", "married"], n)),
        "region": np.repeat(["north", "south"], n // 2), "income": draw.normal(size=n).round(3),
    })  # fmt: skip
    columns = (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("age", Role.KEY, Bins((0, 16, 40, 80))),
        Column("marital", Role.KEY, Categories(("single", "married"))),
        Column("region", Role.PUBLIC),
        Column("income", Role.SENSITIVE),
    )
    rule = Impossible.of({"age": ["[0, 16)"], "marital": ["married"]})
    plans = {
        "retention": pm.design(
            Schema(columns, (rule,)), pm.PkAnonymity(k=5), data=people, method="retention"
        ),
        "invariant": pm.design(Schema(columns), data=people, method=pm.Invariant(stay=0.6)),
        "resample": pm.design(Schema(columns), pm.KAnonymity(k=4), data=people, method="resample"),
        "centroid": pm.design(Schema(columns), pm.KAnonymity(k=4), data=people, method="centroid"),
        "permute": pm.design(Schema(columns), pm.KAnonymity(k=4), data=people, method="permute"),
        "gaussian": pm.design(Schema(columns), pm.KAnonymity(k=4), data=people, method="gaussian"),
        "attribute-sampling": pm.design(
            Schema(columns), pm.PkAnonymity(k=5), data=people, method="attribute-sampling"
        ),
        "unbiased": pm.design(
            Schema(columns), pm.CorrectMatch(xi=0.5), data=people, method="inverse-frequency"
        ),
        "optimal": pm.design(
            Schema(columns),
            pm.SpontaneousRecognition(alpha=0.5, width=2),
            data=people,
            method="optimal",
        ),
    }
    drawn = (
        *columns[:3],
        Column("region", Role.PUBLIC),
        Column("income", Role.SENSITIVE, Bins((-9, -1, 0, 1, 9), "draw")),
    )
    keys = tuple(column for column in columns if column.role is Role.KEY)
    noise = Schema.from_toml(NOISE)
    plans |= {
        "drawn": pm.design(Schema(drawn), pm.PkAnonymity(k=5), data=people, method="retention"),
        "noise": pm.design(noise, pm.PkAnonymity(k=5), data=people, method="attribute-sampling"),
    }
    rounds = people.select([column.name for column in keys])
    counted = pm.design(
        Schema(keys), pm.ShuffledPrivacy(epsilon=3), data=rounds, method="shuffled-marginals"
    )
    for name, plan in plans.items():
        pm.protect(people, plan, to=place / name, seed=1)
    pm.protect(rounds, counted, to=place / "shuffled-marginals")
    formats = ("csv", "feather", "sav", "dta")
    for name in formats:
        pm.protect(people, plans["retention"], to=place / name, seed=2, file_format=name)
    return [place / name for name in (*plans, "shuffled-marginals", *formats)]


# -- mutations of certificates ---------------------------------------------------------------------


STRANGE = (
    None, True, False, 0, 1, -1, 2**63, 10**40, 0.5, 1e308, "", "x", "a\x1b[2J", "../x", "0" * 30,
    [], [[]], {}, {"a": {}}, [None], "\x00", "released as it is", "published", "withheld", "groups",
)  # fmt: skip


def _form(folder):
    return json.loads((folder / CERTIFICATE).read_bytes())


def _write(folder, form, chance):
    """Mostly with a right digest, in the right spelling."""
    from pramana.release.certificate_fields import canonical

    try:
        if chance.random() < 0.9 and isinstance(form, dict):
            form = {name: own for name, own in form.items() if name not in ("digest", "signature")}
            form = _with_forged_sentences(form, chance) if chance.random() < 0.3 else form
            form["digest"] = hashlib.sha256(canonical(form)).hexdigest()
        content = canonical(form)
    except (TypeError, ValueError):
        content = json.dumps(form).encode()
    (folder / CERTIFICATE).write_bytes(content)


FORGED = ("nobody can be found", "everything is exact")


def _with_forged_sentences(form, chance):
    """Perhaps with sentences that do not follow from the numbers."""
    claims = form.get("guarantees")
    for claim in claims if isinstance(claims, list) and chance.random() < 0.7 else ():
        if isinstance(claim, dict):
            claim["sentence"] = FORGED[0]
    scope = form.get("scope")
    if isinstance(scope, dict) and chance.random() < 0.3:
        scope["statement"] = form["expected_error"] = FORGED[1]
    return form


def _spots(form):
    """Every place of a tree: the container and the name or position in it."""
    spots, open_ = [], [form]
    while open_:
        inner = open_.pop()
        names = list(inner) if isinstance(inner, dict) else range(len(inner))
        for name in names:
            spots.append((inner, name))
            if isinstance(inner[name], dict | list):
                open_.append(inner[name])
    return spots


def _remove(folder, chance, _):
    form = _form(folder)
    for _ in range(chance.choice((1, 1, 2, 5))):
        inner, name = chance.choice(_spots(form))
        if name in inner if isinstance(inner, dict) else name < len(inner):
            del inner[name]
    _write(folder, form, chance)


def _retype(folder, chance, _):
    form = _form(folder)
    for _ in range(chance.choice((1, 1, 3))):
        inner, name = chance.choice(_spots(form))
        inner[name] = copy.deepcopy(chance.choice(STRANGE))
    _write(folder, form, chance)


def _exchange(folder, chance, bases):
    form, other = _form(folder), _form(chance.choice(bases))
    if chance.random() < 0.5:
        name = chance.choice(sorted(set(form) & set(other)))
        form[name] = other[name]
    else:
        (a, i), (b, j) = (chance.choice(_spots(form)) for _ in range(2))
        if not _holds(a[i], b) and not _holds(b[j], a):
            a[i], b[j] = b[j], a[i]
    _write(folder, form, chance)


def _holds(outer, inner):
    if outer is inner:
        return True
    parts = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
    return any(_holds(part, inner) for part in parts)


def _nest(folder, chance, _):
    form = _form(folder)
    inner, name = chance.choice(_spots(form))
    for _ in range(chance.choice((1, 3, 50, 400))):
        inner[name] = [inner[name]] if chance.random() < 0.5 else {"a": inner[name]}
    _write(folder, form, chance)


def _numbers(folder, chance, _):
    form = _form(folder)
    spots = [(a, i) for a, i in _spots(form) if type(a[i]) in (int, float)]
    for inner, name in chance.sample(spots, min(len(spots), chance.choice((1, 2)))):
        inner[name] = chance.choice((inner[name] + 1, inner[name] * 2, -inner[name], 10**18, 0))
    _write(folder, form, chance)


def _repeat(folder, chance, _):
    text = (folder / CERTIFICATE).read_text()
    lines = text.split("\n")
    at = chance.randrange(1, len(lines) - 2)
    lines.insert(at, lines[at].rstrip(",") + ",")
    (folder / CERTIFICATE).write_text("\n".join(lines))


def _bytes(folder, chance, _):
    path = folder / chance.choice([file.name for file in folder.iterdir()])
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 4))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _careful(folder, chance, _):
    """A change whose digest, words and claims all follow from it, as a forger would make it."""
    from pramana.errors import PramanaError
    from pramana.guarantees.claims import attained, paired
    from pramana.mechanisms.mechanism import Mechanism
    from pramana.release.folder import read_certificate

    before = read_certificate(folder)
    changes = [
        lambda c: replace(c, anonymity_set=max(1, c.anonymity_set + chance.choice((-1, 1, 100)))),
        lambda c: replace(c, records=c.records + chance.choice((-1, 1))),
        lambda c: replace(c, kind=chance.choice(("withheld", "groups")), mechanism=None),
        lambda c: replace(c, method=chance.choice(sorted(_known_methods()))),
        lambda c: replace(c, data_dependent=not c.data_dependent),
        lambda c: replace(c, options={}),
        lambda c: replace(c, claims=c.claims * 2),
        lambda c: replace(c, mechanism=Mechanism(c.mechanism.steps[:-1])),
        lambda c: replace(c, schema=replace(c.schema, columns=c.schema.columns[1:])),
        lambda c: replace(c, schema=replace(c.schema, columns=c.schema.columns[::-1])),
    ]
    try:
        after = chance.choice(changes)(before)
        if after.kind == "published" and chance.random() < 0.8:
            after = replace(after, claims=paired((), attained(after.evidence)))
        content = after.to_bytes()
    except (PramanaError, AttributeError, StopIteration):
        content = b"{}"
    if content == before.to_bytes():
        content = b""
    (folder / CERTIFICATE).write_bytes(content)


# -- mutations of folders --------------------------------------------------------------------------


def _files(folder, chance, bases):
    """One of the files is no longer what it was."""
    path = folder / chance.choice(sorted(file.name for file in folder.iterdir()))
    other = chance.choice(bases)
    stranger = next(file for file in other.iterdir() if file.name != CERTIFICATE)
    kept = path.read_bytes()
    path.unlink()
    makers = [
        lambda: path.symlink_to("/dev/zero"), lambda: path.symlink_to("/etc/hostname"),
        lambda: os.mkfifo(path), lambda: path.mkdir(), lambda: None,
        lambda: path.write_bytes(kept[: len(kept) // 2]), lambda: path.write_bytes(kept + b"x"),
        lambda: path.write_bytes(b""), lambda: path.with_name("renamed").write_bytes(kept),
        lambda: path.write_bytes(_other_content(stranger, kept)), lambda: _linked(path, kept),
        lambda: os.truncate(_made(path), 2**40), lambda: _foldered(path, kept),
    ]  # fmt: skip
    chance.choice(makers)()


def _other_content(stranger, kept):
    content = stranger.read_bytes()
    return content if content != kept else content[::-1]


def _linked(path, kept):
    aside = path.parent.parent / "aside"
    aside.write_bytes(kept)
    path.symlink_to(aside)


def _made(path):
    path.touch()
    return path


def _foldered(path, kept):
    path.mkdir()
    (path / "part-0.parquet").write_bytes(kept)


def _named(folder, chance, _):
    form = _form(folder)
    names = ("../data.parquet", "/dev/zero", "*", "a/b", ".x", "", "data", "certificate.json", "é")
    form["data"]["name"] = chance.choice(names)
    _write(folder, form, chance)


MUTATIONS = [
    ("removed", _remove), ("retyped", _retype), ("exchanged", _exchange), ("nested", _nest),
    ("numbers", _numbers), ("repeated", _repeat), ("bytes", _bytes), ("careful", _careful),
    ("files", _files), ("named", _named),
]  # fmt: skip
