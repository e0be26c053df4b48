"""A survey folder: the definition and the page, which are public, and the store, which is not.

The page is one file with all that it needs inside. Its script and its style are allowed by their
digests, so that a page that was changed on its way does not run; the digest of the whole file
is in the signed definition.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from pramana.base.atomic_files import (
    note_written,
    read_file,
    require_free,
    whole_file,
    whole_folder,
    write_whole,
)
from pramana.base.charts import tokens
from pramana.base.processes import defer_signals
from pramana.base.randomness import Keystream
from pramana.collect.channel import are_all_combinations
from pramana.collect.definition import DEFINITION, PAGE, TRIAL, Definition, define, way_out
from pramana.collect.store import (
    DAMAGED,
    IN_MEMORY,
    SqliteStore,
    Store,
    database_errors,
    open_store,
    reason_of,
)
from pramana.collect.survey import NOT_SAID, SKIPPED, WORDS, Survey, consent_of, read_survey
from pramana.errors import AlteredRelease, InputError, OutputExists, PramanaError
from pramana.methods.plan import Plan
from pramana.types import Form
from pramana.verification.checks import Check, Verdict

ELSEWHERE: Final = "answers.elsewhere"
"""A file that says that the answers are kept in a database, and not in which one."""

CODE_WORDS: Final = 2
MOST_CODES: Final = 10_000_000


def new_survey(source: Path, to: Path, *, sign_with: Path | None = None) -> tuple[Definition, Plan]:
    """Make a survey folder from a survey file."""
    survey, text = Survey.load_with_text(source)
    if to.exists():
        raise OutputExists("{to} exists already. Choose another place for the survey.", to=to)
    definition, plan = define(survey, text)
    page, trial = pages_of(definition)
    definition = definition.changed(page=hashlib.sha256(page).hexdigest())
    if sign_with is not None:
        definition = definition.signed(sign_with)
    with whole_folder(to) as work:
        (work / DEFINITION).write_bytes(definition.to_bytes())
        (work / PAGE).write_bytes(page)
        (work / TRIAL).write_bytes(trial)
    return definition, plan


def preview_survey(text: str) -> tuple[str, Definition, Plan]:
    """The page of a survey file to try out, the definition and the plan; nothing is written."""
    definition, plan = define(read_survey(text), text)
    return pages_of(definition)[1].decode(), definition, plan


def load(folder: str | Path, *, wave: int | None = None) -> Definition:
    """The definition of a survey folder, whose page is the one that it names; of a panel a wave.

    One that another version made is read as it was signed, so that its answers can be closed.
    """
    definition, _ = _loaded(Path(folder))
    return definition if wave is None else definition.of_wave(wave)


def load_survey(folder: Path) -> tuple[Definition, bytes]:
    """A survey that people may answer: a definition whose guarantees hold, and its page."""
    definition, page = _loaded(folder)
    definition.require_kept()
    return definition, page


def _loaded(folder: Path) -> tuple[Definition, bytes]:
    definition = Definition.load(folder)
    _require_fitting(definition)
    try:
        page = read_file(folder / PAGE, what="page")
    except InputError:
        raise InputError(
            "{folder} has no {page}. Make the survey anew.", folder=folder, page=PAGE
        ) from None
    if hashlib.sha256(page).hexdigest() != definition.page:
        raise AlteredRelease(
            "{folder} is not the page of the definition: it was altered.", folder=folder / PAGE
        )
    return definition, page


def _require_fitting(definition: Definition) -> None:
    """Refuse matrices of other questions.

    Whoever changes a definition can also recompute what follows from it. The page must not ask or
    send anything else than the survey file says.
    """
    from pramana.collect.closing import bare_certificate
    from pramana.verification.consistency import matrix_checks

    wrong = "its matrices are of other questions"
    if {*definition.mechanism.columns} == {*definition.survey.schema.names}:
        certificate = bare_certificate(definition, definition.survey.expected)
        failed = [check.name for check in matrix_checks(certificate) if not check.ok]
        if not failed:
            return
        wrong = f"{failed[0]} does not fit the survey"
    raise AlteredRelease(
        "{definition} was altered: {wrong}. {way_out}",
        definition=DEFINITION,
        wrong=wrong,
        way_out=way_out(definition.maker),
    )


def check_survey(folder: Path, *, key: Path | None = None) -> Verdict:
    """What anybody can check before they answer: definition, consent text, page and signature.

    The page is made anew from the definition: one that does something else differs from it, even
    if its digest was entered in the definition.
    """
    definition, page = load_survey(folder)
    same = page == page_of(definition)
    follows = "guarantees and matrices recomputed; survey {survey}"
    about_page = "the page that this version makes of it; SHA-256 {digest}"
    if not same:
        about_page = (
            "not the page that this version makes of it; SHA-256 {digest}; made by pramana "
            "{version}: check it with that one"
        )
    checks = [
        Check.decided("definition", True, follows, survey=definition.identity),
        _check_of_words(definition),
        Check.decided("page", same, about_page, digest=definition.page, version=definition.maker),
    ]
    if key is not None:
        signed = definition.signature is not None and definition.has_signature_of(key)
        checks.append(
            Check.decided("signature", signed, "by this key" if signed else "not by this key")
        )
    elif definition.signature is not None:
        checks.append(Check.asserted("signature", "signed; give the public key of the office"))
    return Verdict(tuple(checks))


def _check_of_words(definition: Definition) -> Check:
    """Whether people read the consent text of this version; the office's own is not checked."""
    changed = [
        word
        for word, text in definition.survey.words.items()
        if text != definition.survey.translation[word]
    ]
    names = ", ".join(changed)
    if definition.consent() != consent_of(definition):
        words = "this version has other texts; made by pramana {version}: check it with that one"
        if changed:
            words = (
                "this version has other texts; made by pramana {version}: check it with that one; "
                "texts written by the office, which are not checked: {names}"
            )
        return Check.decided("words", False, words, version=definition.maker, names=names)
    if changed:
        words = (
            "texts written by the office, which are not checked: {names}; all else is the text of "
            "this version"
        )
        return Check.asserted("words", words, names=names)
    return Check.decided("words", True, "the texts of the page are the texts of this version")


# -- the store of answers --------------------------------------------------------------------------


def kept_elsewhere(folder: Path) -> bool:
    """Whether the answers of a survey folder are kept in a database."""
    return (folder / ELSEWHERE).exists()


@contextmanager
def opened_store(
    folder: Path, definition: Definition, database: str | None = None
) -> Iterator[Store]:
    """The answers to a survey or a wave, in its folder or at the URL of a database.

    A note in the folder says that they are in a database: nobody who leaves it out later opens an
    empty store instead, and lets codes answer there or closes it.
    """
    with _opened(folder, definition, database) as store:
        if database is not None and not kept_elsewhere(folder):
            with suppress(OSError, PramanaError):  # a read-only folder, or another was first
                write_whole(folder / ELSEWHERE, "The answers are kept in a database.\n")
        yield store


@contextmanager
def _opened(folder: Path, definition: Definition, database: str | None) -> Iterator[Store]:
    if database is None and kept_elsewhere(folder):
        raise InputError(
            "The answers to the survey in {folder} are kept in a database: name it by --database "
            "URL. (If that is no longer so, remove {elsewhere}.)",
            folder=folder,
            elsewhere=folder / ELSEWHERE,
        )
    place = database or _store_file(folder, definition)
    try:
        with closing(
            open_store(place, identity=definition.key, codes=definition.survey.codes)
        ) as store:
            yield store
    except Exception as error:
        if not isinstance(error, (*DAMAGED, *database_errors())):
            raise
        why = reason_of(error, folder)
        where = folder if database is None else "the database"
        raise InputError(
            "The answers in {where} cannot be read or written: {why}.", where=where, why=why
        ) from None


@contextmanager
def seen_store(
    folder: Path, definition: Definition, database: str | None = None
) -> Iterator[Store]:
    """The answers for reading: no store is made where no answers came yet."""
    if database or kept_elsewhere(folder) or _store_file(folder, definition).exists():
        with _opened(folder, definition, database) as store:
            yield store
        return
    codes = definition.survey.codes
    with closing(SqliteStore(IN_MEMORY, identity=definition.key, codes=codes)) as empty:
        yield empty


def _store_file(folder: Path, definition: Definition) -> Path:
    wave = "" if definition.wave == 1 else f"-{definition.wave}"
    return folder / f"answers{wave}.sqlite"


@contextmanager
def answers(
    folder: str | Path, *, database: str | None = None, wave: int | None = None
) -> Iterator[Store]:
    """The store of a survey folder, in a panel that of a wave."""
    with opened_store(Path(folder), load(folder).of_wave(wave), database) as store:
        yield store


def invite(
    folder: Path, definition: Definition, number: int, to: Path, *, database: str | None = None
) -> None:
    """Draw invitation codes, let them answer, and write them down for who sends the invitations.

    The store keeps their hashes only, and only the office can read the file. It gets its name when
    all of its codes can answer: a file that is there never has one that would be refused. Of a
    panel they may answer in the waves that are not closed.
    """
    if not 1 <= number <= MOST_CODES:
        raise InputError(
            "The number of codes must lie between 1 and {most_codes:,}.", most_codes=MOST_CODES
        )
    if to.exists():
        raise OutputExists("{to} exists already. Choose another place for the codes.", to=to)
    if not definition.survey.codes:
        raise InputError("This survey takes no codes: its file must say codes = true.")
    require_free(to, force=False)
    words = Keystream.from_system().words("codes", 0, CODE_WORDS * number).reshape(number, -1)
    codes = [
        "-".join(re.findall(".{5}", base64.b32encode(row.tobytes()).decode()[:20])) for row in words
    ]
    waves = []
    for wave in range(1, definition.survey.waves + 1):
        of_wave = definition.changed(wave=wave)
        with opened_store(folder, of_wave, database) as store:
            if not store.finished():
                waves.append(of_wave)
    if not waves:
        raise InputError("This survey is closed: no more answers are taken, and no code is drawn.")
    with whole_file(to, mode=0o600) as place:
        place.touch(mode=0o600)
        place.write_bytes("".join(f"{code}\n" for code in codes).encode())
        for of_wave in waves:
            with opened_store(folder, of_wave, database) as store, defer_signals():
                store.invite(codes)
                note_written(folder)


# -- the page --------------------------------------------------------------------------------------


def page_of(definition: Definition) -> bytes:
    """The page that this version makes of a definition."""
    return pages_of(definition)[0]


def pages_of(definition: Definition) -> tuple[bytes, bytes]:
    """The page of a survey, which depends on nothing but its definition, and one to try it out.

    The latter is the same, and sends nothing.
    """
    content = questionnaire(definition)
    return _page(definition, content), _page(definition, content | {"trial": True})


def _page(definition: Definition, content: Form) -> bytes:
    survey = definition.survey
    style, script = tokens() + _asset("page.css"), _asset("sampler.js") + _asset("page.js")
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, allow_nan=False)
    parts = {
        "language": html.escape(survey.language),
        "direction": survey.direction,
        "title": html.escape(survey.title),
        "noscript": html.escape(survey.said("noscript")),
        "script_hash": _digest(script),
        "style_hash": _digest(style),
        "style": style,
        # No text of the survey can end the element that holds it.
        "survey": text.replace("<", "\\u003c"),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html")).encode()


def questionnaire(definition: Definition) -> Form:
    """All that the page knows."""
    survey = definition.survey
    channel = definition.channel.to_json()
    for forms, asked in zip(channel["asked"], definition.channel.asked, strict=True):
        for form, draw in zip(forms["draws"], asked.draws, strict=True):
            # The page lists cells that are all combinations of answers by itself.
            if not are_all_combinations(draw.columns, draw.cells, definition.answers):
                form["cells"] = [list(cell) for cell in draw.cells]
    return {
        "trial": False,
        "identity": definition.identity,
        **_texts(survey, definition.consent()),
        **_translations(definition),
        "codes": survey.codes,
        "keys": definition.keys,
        "panel": survey.waves > 1,
        "work": survey.work,
        "file": f"answer-{definition.identity[:8]}",
        "skipped": SKIPPED,
        "not_said": NOT_SAID,
        "questions": [
            {
                "name": question.name,
                "text": question.text,
                "answers": list(question.answers),
                "labels": dict(question.labels),
                "bins": list(question.bins) if question.bins else None,
                "points": list(question.points) if question.points else None,
                "step": question.step,
                "marks": list(getattr(question.domain, "marks", ())),
            }
            for question in survey.questions
        ],
        "channel": channel,
    }


def _texts(survey: Survey, consent: list[str]) -> Form:
    """All that the page says in one language, but the questions."""
    return {
        "title": survey.title,
        "office": survey.office,
        "about": survey.about,
        "consent": consent,
        "words": {word: survey.said(word) for word in WORDS if not word.startswith("consent")},
    }


def _translations(definition: Definition) -> Form:
    """The texts by language, where there are several; the first is that of the survey."""
    survey = definition.survey
    translated = {language: survey.in_language(language) for language in survey.translations}
    consents = {language: consent_of(definition, language) for language in translated}
    languages = {survey.language: survey, **translated}
    consents[survey.language] = definition.consent()
    if len(languages) == 1:
        return {}
    return {
        "languages": [
            {
                **_texts(one, consents[language]),
                "language": language,
                "direction": one.direction,
                "questions": [
                    {"text": question.text, "labels": dict(question.labels)}
                    for question in one.questions
                ],
            }
            for language, one in languages.items()
        ]
    }


@cache
def _asset(name: str) -> str:
    return files("pramana.collect").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
