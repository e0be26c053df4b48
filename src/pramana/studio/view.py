"""Templates that escape everything, forms, parts of pages that are loaded later, number formats."""

from __future__ import annotations

import asyncio
import json
import math
import re
import shlex
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from inspect import signature
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pramana import Schema, api
from pramana.base.text import pasted
from pramana.base.translation import (
    MARKS,
    gettext,
    language,
    mark_templates,
    noop,
    numeral,
)
from pramana.errors import InputError, PramanaError
from pramana.studio.jobs import Job, Jobs
from pramana.studio.session import Choices, StudioSession, without_options
from pramana.studio.worker import Collectors

MOST_FORM: Final = 2**20
OUT_OF_DATE: Final = noop("The page is out of date. Load it again.")
PLACE: Final = re.compile(r"[0-9]{1,9}")
OTHERWISE: Final = {
    "weights-not-modelled": ("unweighted", "1", noop("Show it without the weight")),
    "population-not-modelled": ("infer", "records", noop("Show it for these records alone")),
}
"""By the code of an analyst's error: the parameter to set, and what the link shows."""

PASSING: Final = ("lost", "memory", "system", "fault")
"""Codes of refusals that may be over when the same is tried again."""

UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\uf8ff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, surrogates, private characters, and those that turn the direction of text."""

GLANCE: Final = 0.06
"""Seconds that an answer waits for work before it says that it is being done."""


@dataclass(frozen=True)
class Entry:
    """A page in the menu.

    Attributes:
        path: Its address.
        title: Its name in the menu and in the title, never of the data.
        needs: ``nothing``, ``file``, ``schema`` or ``release``: what must be there before.
        group: ``steward`` or ``analyst``.
        step: Whether it is one of the steps of the path, which are numbered.
    """

    path: str
    title: str
    needs: str = "nothing"
    group: str = "steward"
    step: bool = True

    def open_to(self, now: Choices) -> bool:
        """Whether what it needs is there."""
        there = {"file": now.file, "schema": now.schema, "release": now.analysed}
        return bool(there.get(self.needs, "nothing is needed"))


Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])


class Pages:
    """The pages of a module: their places in the menu, and what answers at which address.

    A handler takes what it names: ``request``, ``studio``, and ``form`` where it is posted.
    """

    def __init__(self, *entries: Entry) -> None:
        self.entries = entries
        self.routes: list[Route] = []

    def get(self, path: str) -> Callable[[Handler], Handler]:
        """Answer at an address."""
        return self._entered(path, "GET", form=False)

    def post(self, path: str, *, raw: bool = False) -> Callable[[Handler], Handler]:
        """Take a form, of which an outdated one is refused, or any other body (``raw``)."""
        return self._entered(path, "POST", form=not raw)

    def _entered(self, path: str, method: str, *, form: bool) -> Callable[[Handler], Handler]:
        def enter(handler: Handler) -> Handler:
            named = signature(handler).parameters

            async def answer(request: Request) -> Response:
                given = {"request": request, "studio": studio_of(request)}
                if form:
                    given["form"] = await form_of(request)
                return await handler(**{name: given[name] for name in named})

            self.routes.append(Route(path, answer, methods=[method]))
            return handler

        return enter


@dataclass(frozen=True)
class SameWork:
    """The same by the command line and by Python.

    Attributes:
        commands: Words of each command.
        python: A program.
        files: Texts by the names of the files that are written first; none is replaced.
    """

    commands: tuple[tuple[str, ...], ...]
    python: str
    files: tuple[tuple[str, str], ...] = ()

    @property
    def shell(self) -> str:
        """Commands to paste."""
        first = (_written(name, text) for name, text in self.files)
        return "\n".join([*first, *map(pasted, self.commands)])


def _written(name: str, text: str) -> str:
    """A command that writes a text into a new file, letter by letter.

    >>> print(_written("a.txt", "$HOME"))
    (set -C; cat > a.txt) <<'EOF'
    $HOME
    EOF
    """
    end = "EOF"
    while end in text:
        end += "_"
    body = text.removesuffix("\n")
    return f"(set -C; cat > {shlex.quote(name)}) <<'{end}'\n{body}\n{end}"


@dataclass(frozen=True)
class Studio:
    """All that a handler works with."""

    session: StudioSession
    jobs: Jobs
    entries: tuple[Entry, ...]
    database: str | None = None
    collectors: Collectors = field(default_factory=Collectors)


class Form:
    """What a page sent: the last value of a name, or all of them."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        return self.get(name)

    def get(self, name: str, default: str = "") -> str:
        """A text, without spaces around it."""
        return next((v.strip() for n, v in reversed(self._pairs) if n == name), default)

    def exact(self, name: str) -> list[str]:
        """Every value of a name as it was sent, with spaces around it."""
        return [value for other, value in self._pairs if other == name]

    def last(self, name: str) -> str:
        """The last value of a name as it was sent: names of files and sheets may end in spaces."""
        return "".join(self.exact(name)[-1:])

    def all(self, name: str) -> list[str]:
        """Every value of a name, without spaces around it."""
        return [value.strip() for value in self.exact(name)]

    def number(self, name: str) -> float | None:
        """A number, or nothing where the field is empty."""
        text = typed_number(self.get(name))
        words = gettext("{name} must be a number.", name=name.replace("_", " ").capitalize())
        return number_in(text, words) if text else None

    def place(self, name: str, size: int) -> int:
        """A place in a list of this many."""
        return place_in(self.get(name), size)

    def choice(self, name: str, known: Collection[str], words: str) -> str:
        """One of the names that are known."""
        value = self.get(name)
        if value not in known:
            raise InputError(words)
        return value


def typed_number(text: str) -> str:
    """A number as programs read it: a comma is a decimal mark or between thousands, by language.

    >>> from pramana.base.translation import in_language
    >>> with in_language("de"):
    ...     typed_number("0,5"), typed_number("1.5")
    ('0.5', '1.5')
    >>> typed_number("1,200")
    '1200'
    """
    return text.replace(",", "." if language() in MARKS else "")


def number_in(text: str, words: str) -> float:
    """The finite number that a text says; any other text is refused in these words.

    >>> number_in("20", "State a number."), number_in("0.5", "State a number.")
    (20, 0.5)
    """
    try:
        number = float(text)
    except ValueError:
        raise InputError(words) from None
    if not math.isfinite(number):
        raise InputError(words)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def place_in(text: str, size: int, words: str = OUT_OF_DATE) -> int:
    """The place in a list of this length that a text gives in digits.

    >>> place_in("2", 3)
    2
    """
    if not PLACE.fullmatch(text) or int(text) >= size:
        raise InputError(words)
    return int(text)


@lru_cache(maxsize=32)
def schema_of(toml: str) -> Schema:
    """The schema that a session keeps as text."""
    return Schema.from_toml(toml)


def option_values(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a method from its options by flags without dashes."""
    if not options:
        return {}
    known = {item.flag[2:]: item for item in api.options_of(api.METHODS[method])}
    return {known[flag].name: known[flag].value(given) for flag, given in options.items()}


def studio_of(request: Request) -> Studio:
    """The studio of a request."""
    studio: Studio = request.app.state.studio
    return studio


async def form_of(request: Request) -> Form:
    """What a page sent; one that was shown before the last change gets a notice."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_FORM:
            raise InputError(gettext("The form is too long."))
    form = Form(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    shown = form.get("state")
    if shown and shown != str(studio_of(request).session.number):
        raise InputError(
            "Something was changed meanwhile, perhaps in another tab. This page shows the current "
            "state; the form was not saved."
        )
    return form


def visible(value: object) -> object:
    r"""Text in which characters that nobody sees, or that turn its direction, are visible signs.

    Those that join letters of Persian or Hindi stay.

    >>> visible("a\u202eb\u0000"), visible("\u0645\u06cc\u200c\u0631") == "\u0645\u06cc\u200c\u0631"
    ('a\ufffdb\u2400', True)
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return UNSEEN.sub(lambda sign: "\u2400" if sign[0] == "\0" else "\ufffd", value)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("pramana.studio"),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "count": lambda number: numeral(f"{number:,.0f}"),
        "numeral": numeral,
        "duration": duration,
        "amount": amount,
        "below": below,
        "size": size,
        "plain": without_options,
        "spark": sparkline,
        # No line ends before a percent sign.
        "percent": lambda *given: percent(*given).replace(" ", "\u00a0"),
        "risk": lambda *given: risk(*given).replace(" ", "\u00a0"),
    }
    mark_templates(made, visible)
    return made


def load_templates() -> None:
    """All of them, before the first page is asked for."""
    made = _templates()
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)


def duration(seconds: float | None) -> str:
    """In words that do not flicker.

    >>> duration(8), duration(200)
    ('8 seconds', '3 minutes')
    """
    if seconds is None:
        return ""
    for size, one, many in (
        (3600, noop("{number} hour"), noop("{number} hours")),
        (60, noop("{number} minute"), noop("{number} minutes")),
        (1, noop("{number} second"), noop("{number} seconds")),
    ):
        if seconds >= size or size == 1:
            number = max(round(seconds / size), 1)
            return gettext(one if number == 1 else many, number=number)
    return ""


def fragment(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A piece of a page."""
    studio = studio_of(request)
    known = {"session": studio.session, "now": studio.session.now, "busy": studio.jobs.busy}
    if template == "parts/refused.html":
        address = urlsplit(request.headers.get("hx-current-url", ""))
        here = local_page(address.path)
        job: Job | None = context["job"]
        code = "" if job is None else job.code
        known |= {"here": here, "ways": _ways_out(code, here, address.query)}
        # A question that cannot be answered is asked in another way.
        known["again"] = job is not None and (not job.lane or code in PASSING)
        known |= {"place": None, "coarser": None, "copy": None}
        known |= {} if job is None else _remedies(job)
    html = _templates().get_template(template).render(known | context)
    return HTMLResponse(html, status)


def _ways_out(code: str, here: str, query: str) -> list[tuple[str, str]]:
    """The same question put so that it can be answered: addresses, and what they show.

    >>> _ways_out("weights-not-modelled", "/table", "row=a")
    [('/table?row=a&unweighted=1', 'Show it without the weight')]
    """
    if code not in OTHERWISE:
        return []
    name, value, label = OTHERWISE[code]
    asked = [pair for pair in parse_qsl(query) if pair[0] != name]
    return [(f"{here}?{urlencode([*asked, (name, value)])}", label)]


def _remedies(job: Job) -> dict[str, Any]:
    """What a click can do about a refusal: open its column, round a weight, leave out a copy."""
    toml = job.arguments.get("schema")
    names = schema_of(toml).names if toml else ()
    column = job.fields.get("column")
    known = column in names
    return {
        "named": column,
        "place": names.index(column) if known else None,
        "coarser": job.fields.get("rounded") if known else None,
        "copy": job.fields.get("copy"),
    }


def page(
    request: Request,
    template: str,
    *,
    same: SameWork | None = None,
    status: int = 200,
    **context: Any,
) -> Response:
    """A whole page."""
    studio = studio_of(request)
    session = studio.session
    notice, session.notice = session.notice, ""
    here = request.url.path
    entry = next((entry for entry in studio.entries if _leads(entry.path, here)), None)
    return fragment(
        request,
        template,
        status,
        entries=studio.entries,
        entry=entry,
        title=entry.title if entry is not None else "Studio",
        here=here,
        notice=notice,
        same=same,
        **context,
    )


def _leads(path: str, here: str) -> bool:
    return here == path or (path != "/" and here.startswith(f"{path}/"))


def goto(path: str) -> Response:
    """On to another page, by a new request."""
    return RedirectResponse(path, 303)


def saved(studio: Studio, answer: Response) -> Response:
    """The page learns the number of the state, which its forms send."""
    answer.headers["HX-Trigger"] = json.dumps({"saved": studio.session.number})
    return answer


def local_page(path: str, otherwise: str = "/") -> str:
    """A page of ours, never another place."""
    good = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if good else otherwise


def nothing_new() -> Response:
    """The page stays as it is, and asks again."""
    return Response(status_code=204)


async def part(
    request: Request,
    job: Job,
    template: str,
    *,
    patience: float = GLANCE,
    poll: str = "",
    **context: Any,
) -> Response:
    """What came of a job, or how far it is; a page asks again at ``poll`` until it is done."""
    unfinished = await waiting(request, job, patience=patience, poll=poll)
    if unfinished is not None:
        return unfinished
    try:
        return fragment(request, template, result=job.result, notices=job.notices, **context)
    except PramanaError as error:
        return fragment(request, "parts/refused.html", words=str(error), job=None)


async def waiting(
    request: Request, job: Job, *, patience: float = GLANCE, poll: str = ""
) -> Response | None:
    """How far a job is, or why it ended; nothing once it is done."""
    await asyncio.to_thread(job.ended.wait, patience)
    poll = poll or request.url.path
    if job.condition == "done":
        return None
    if job.condition == "refused":
        return fragment(request, "parts/refused.html", words=job.words, job=job, poll=poll)
    name = "cancelled" if job.condition == "cancelled" else "progress"
    return fragment(request, f"parts/{name}.html", job=job, poll=poll)


MOST_KEPT: Final = 64
"""Charts: a page that asks again is answered at once."""


def percent(share: float | None, digits: int = 1) -> str:
    """A share in words.

    >>> percent(0.1234), percent(0.00001), percent(None)
    ('12.3 %', '< 0.1 %', '')
    """
    if share is None:
        return ""
    least = 10.0**-digits / 100
    if 0 < share < least:
        return numeral(f"< {100 * least:.{digits}f} %")
    return numeral(f"{100 * share:.{digits}f} %")


def risk(share: float | None, digits: int = 1) -> str:
    """A share of people who are found, or of records that are copied: never less than it is.

    >>> risk(0.33333), risk(0.5), risk(0.00001), risk(0.0)
    ('33.4 %', '50.0 %', '< 0.1 %', '0.0 %')
    """
    if share is None or 0 < share < 10.0**-digits / 100:
        return percent(share, digits)
    steps = math.ceil(Fraction(repr(float(share))) * 100 * 10**digits)
    return numeral(f"{steps / 10**digits:.{digits}f} %")


def sparkline(bars: Sequence[tuple[str, int]]) -> str:
    """The shape of a distribution in one line of text.

    >>> sparkline([("a", 1), ("b", 4), ("c", 8)])
    '▁▄█'
    """
    most = max((number for _, number in bars), default=0) or 1
    return "".join("▁▂▃▄▅▆▇█"[max(-(-8 * number // most), 1) - 1] for _, number in bars)


def below(number: float, digits: int = 1) -> str:
    """A number of which more is safer: a k, or by how much fewer people are found.

    >>> below(2.9999), below(12.0), below(66.7, 0)
    ('2.9', '12', '66')
    """
    steps = math.floor(Fraction(repr(float(number))) * 10**digits)
    return numeral(f"{steps / 10**digits:,.{digits}f}".removesuffix(".0"))


def amount(number: float) -> str:
    """An estimate with four digits, or whole from 1,000 on.

    >>> amount(36.2849), amount(12345.6), amount(math.nan)
    ('36.28', '12,346', 'unknown')
    """
    if not math.isfinite(number):
        return gettext("unknown")
    return numeral(f"{round(number):,}" if abs(number) >= 1000 else f"{number:,.4g}")


def size(octets: float) -> str:
    """Of a file.

    >>> size(900), size(5_300_000)
    ('900 bytes', '5.3 MB')
    """
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if octets >= unit:
            return numeral(f"{octets / unit:.3g} {word}")
    return gettext("{number:.0f} bytes", number=octets)


def drawn(verb: str, *arguments: Any, **named: Any) -> dict[str, Any]:
    """A chart by a verb of ``api``, or why there is none; in a thread, for it may take a moment."""
    return _drawn_in(language(), verb, *arguments, **named)


@lru_cache(maxsize=MOST_KEPT)
def _drawn_in(language: str, verb: str, *arguments: Any, **named: Any) -> dict[str, Any]:
    del language  # of the texts: another one makes it another chart
    try:
        return {"svg": getattr(api, verb)(*arguments, **named), "no_chart": ""}
    except PramanaError as error:
        return {"svg": "", "no_chart": str(error)}
