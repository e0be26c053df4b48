"""``pramana collect``: people randomise their own answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pramana.base.text import as_file, pasted
from pramana.cli.app import help_of
from pramana.cli.options import DOES_NOT_HOLD, AsJson, argument, option

if TYPE_CHECKING:
    from pramana.collect.closing import Live
    from pramana.collect.definition import Definition
    from pramana.methods.plan import Plan

collect = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    help=(
        "Run a survey in which respondents randomise their own answers.\n\n"
        "\b\n"
        "Example:\n"
        "  pramana collect new survey.toml -o survey/     the plan, the page, the promise\n"
        "  pramana collect serve survey/                  people answer\n"
        "  pramana collect close survey/ -o release/      a release like any other"
    ),
    rich_markup_mode=None,
)


@collect.callback()
def _alone(context: typer.Context) -> None:
    # Without a docstring: what the commands are for stands in ``collect``.
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


SurveyFolder: TypeAlias = Annotated[Path, argument("A survey folder.", metavar="SURVEY")]
Database: TypeAlias = Annotated[
    str | None,
    option("--database", "Answers in PostgreSQL: postgresql://...", metavar="URL"),
]
Wave: TypeAlias = Annotated[int | None, option("--wave", "Wave of a panel.", metavar="NUMBER")]
SignKey: TypeAlias = Annotated[
    Path | None, option("--sign", "Private key that signs.", metavar="KEY")
]


def new(
    survey: Annotated[Path, argument("Survey file.", metavar="TOML")],
    to: Annotated[Path, option("--output", "Output folder.", short="-o", metavar="FOLDER")],
    sign: SignKey = None,
    as_json: AsJson = False,
) -> None:
    """Make a survey folder: plan, page and consent text.

    Example:
      pramana collect new survey.toml -o survey/
    """
    from pramana.cli.rendering import bullet, note, out, show_json
    from pramana.collect import new_survey

    definition, plan = new_survey(survey, to, sign_with=sign)
    if as_json:
        show_json(plan.to_json() | {"identity": definition.identity, "page": definition.page})
        return
    console = out()
    _head(definition, plan)
    for sentence in definition.consent():
        bullet(console, sentence)
    for entry in ("contact", "retention"):
        if not getattr(definition.survey, entry):
            note(f"The survey states no {entry}: people read that the office does not state it.")
    note(f"Try it: pramana collect serve {to}")


def _head(definition: Definition, plan: Plan) -> None:
    from pramana.base.text import listed
    from pramana.cli.rendering import bullet, out

    how = "whole records" if definition.method == "retention" else "reports of some questions"
    error = "" if plan.expected_error is None else f" {plan.expected_error.sentence()}"
    out().print(f"Survey {definition.identity[:16]}: {how}.{error}", markup=False)
    others = plan.statistics.get("unnamed", ())
    if others:
        bullet(
            out(),
            f"No table of the survey names {listed(others)}: few people are asked, the others are "
            "asked for what tables name. Add them to tables, or leave the questions out.",
        )


def check(
    folder: SurveyFolder,
    key: Annotated[Path | None, option("--key", "Public key of the office.", metavar="PUB")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a survey before you answer: its guarantees, its page and its signature.

    The page is made anew from the definition and compared. Leaves with 1 if anything fails.

    Example:
      pramana collect check survey/ --key office.key.pub
    """
    from pramana.cli.rendering import show_json, show_verdict
    from pramana.collect import check_survey

    verdict = check_survey(folder, key=key)
    if as_json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict, what="survey")
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)


def serve(
    folder: SurveyFolder,
    host: Annotated[str, option("--host", "Address to listen at.", metavar="NAME")] = "127.0.0.1",
    port: Annotated[int, option("--port", "Port; 0 takes a free one.", metavar="NUMBER")] = 8000,
    public_address: Annotated[
        str | None,
        option("--public-address", "HTTPS address of the reverse proxy in front.", metavar="URL"),
    ] = None,
    certificate: Annotated[
        Path | None, option("--tls-cert", "TLS certificate (PEM).", metavar="FILE")
    ] = None,
    key: Annotated[Path | None, option("--tls-key", "Its private key.", metavar="FILE")] = None,
    database: Database = None,
    wave: Wave = None,
) -> None:
    """Serve the page and collect randomised answers until stopped.

    Answers of other machines must be encrypted. State the HTTPS address of a reverse proxy, or give
    a TLS certificate. Let the proxy keep no log of addresses and limit connections per client.

    Example:
      pramana collect serve survey/ --public-address https://survey.example.org
    """
    from pramana.base.processes import listener_at
    from pramana.cli.rendering import note, out
    from pramana.collect import (
        Encryption,
        consent_of,
        load_survey,
        opened_store,
        page_of,
        require_server,
        serve_survey,
    )

    require_server()
    encryption = Encryption(certificate, key, public_address)
    encryption.require_for(host)
    definition, page = load_survey(folder)
    definition = definition.of_wave(wave)
    with opened_store(folder, definition, database) as store, listener_at(host, port) as at:
        if definition.consent() != consent_of(definition):
            by = definition.maker or "of an earlier version"
            note(f"What people are told is as pramana {by} said it, not as this version would.")
        if page != page_of(definition):
            note("The page is not the one that this version makes: see pramana collect check.")
        if store.finished():
            note("This survey is closed: who answers is told so, and nothing is taken.")
        scheme = "http" if certificate is None else "https"
        where = public_address or f"{scheme}://{host}:{at.getsockname()[1]}/"
        out().print(f"People answer at {where} until this is stopped.", markup=False)
        out().file.flush()
        serve_survey(definition, store, page, at, encryption=encryption)


def invite(
    folder: SurveyFolder,
    number: Annotated[int, argument("Number of codes.", metavar="NUMBER")],
    to: Annotated[Path, option("--output", "The file of codes.", short="-o", metavar="FILE")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Draw invitation codes, each of which lets one person answer once.

    Example:
      pramana collect invite survey/ 5000 -o codes.txt
    """
    from pramana import collect as office
    from pramana.cli.rendering import note, show_json

    office.invite(folder, office.load(folder), number, to, database=database)
    if as_json:
        show_json({"codes": number, "file": str(to)})
        return
    codes = "1 code stands" if number == 1 else f"{number:,} codes stand"
    note(f"{codes} in {to}. Send one to each person, and then remove the file.")


def status(
    folder: SurveyFolder,
    by: Annotated[
        list[str] | None,
        option("--by", "Table to estimate from the answers so far.", metavar="COLUMNS"),
    ] = None,
    database: Database = None,
    wave: Wave = None,
    as_json: AsJson = False,
) -> None:
    """Show the number of answers, their guarantees, and suspicious patterns.

    Example:
      pramana collect status survey/
      pramana collect status survey/ --by travel
    """
    from pramana.cli.options import names_of
    from pramana.cli.rendering import bullet, out, show_json
    from pramana.collect import collected_release, load, seen_store, status_of

    definition = load(folder).of_wave(wave)
    names = names_of(by)
    with seen_store(folder, definition, database) as store:
        found = status_of(definition, store)
        table = collected_release(definition, store).crosstab(*names) if names else None
    if as_json:
        show_json(found.to_json() | ({} if table is None else {"estimate": table.to_json()}))
        return
    console = out()
    answers = "1 answer" if found.answers == 1 else f"{found.answers:,} answers"
    console.print(f"{answers} of {found.expected:,} expected; {found.minimum:,} are needed.")
    for sentence in found.sentences:
        bullet(console, sentence)
    for sentence in (*found.short, *found.suspicions):
        bullet(console, sentence, style="yellow")
    if table is not None:
        console.print(str(table), markup=False)


def close(
    folder: SurveyFolder,
    to: Annotated[Path, option("--output", "Release folder.", short="-o", metavar="FOLDER")],
    database: Database = None,
    wave: Wave = None,
    sign: SignKey = None,
    accept_failed: Annotated[
        bool, option("--accept-failed", "Close although 'pramana verify' would fail.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Close the survey and publish the answers as a release folder.

    Closing is final. It needs the minimum of answers that people were promised.

    Example:
      pramana collect close survey/ -o release/
    """
    from pramana.cli.rendering import bullet, note, out, show_json
    from pramana.collect import close_survey, load, opened_store, status_of

    definition = load(folder).of_wave(wave)
    with opened_store(folder, definition, database) as store:
        release = close_survey(definition, store, to, sign_with=sign, accept_failed=accept_failed)
        odd = status_of(definition, store).suspicions
    short = definition.short_of(release.records)
    if definition.promises_too_much:
        note("People were promised more than holds: the certificate states what does. Tell them.")
    for words in (*short, *odd):
        note(words)
    if as_json:
        told = release.certificate.sentences()
        show_json({"release": str(to), "records": release.records, "sentences": told,
                   "short": short, "suspicions": list(odd)})  # fmt: skip
        return
    console = out()
    console.print(f"{to} holds {release.records:,} answers.", markup=False)
    for sentence in release.certificate.sentences():
        bullet(console, sentence)
    note(f"Check it: {pasted(['pramana', 'verify', as_file(str(to))])}")


def demo(
    number: Annotated[
        int, option("--people", "Number of simulated respondents.", metavar="NUMBER")
    ] = 5000,
    to: Annotated[Path, option("--output", "Output folder.", short="-o", metavar="FOLDER")] = Path(
        "collect-demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Run a survey with simulated respondents, from the page to the release.

    They answer through HTTP, as a page would; only the simulation knows what is true. When half of
    them have answered, it is told what is known by then; at the end the release is verified.

    Example:
      pramana collect demo
    """
    from pramana.cli.rendering import note, out, show_json, table_of
    from pramana.collect import demonstrate

    if as_json:
        done = demonstrate(number, to)
    else:
        done = demonstrate(number, to, begun=partial(_begun, number), half_way=_half_way)
    rows = [
        (cell["travel"], f"{done.truth.get(cell['travel'], 0):,}", f"{cell['estimate']:,.0f}",
         f"{cell['low']:,.0f} to {cell['high']:,.0f}")
        for cell in done.estimate.cells
    ]  # fmt: skip
    if as_json:
        show_json({"people": number, "accepted": done.accepted, "half": done.half.to_json(),
                   "valid": done.valid, "release": str(done.release), "travel": rows})  # fmt: skip
        return
    out().print(f"{done.accepted:,} were accepted. How they get to work:", markup=False)
    out().print(table_of(("travel", "truth", "estimate", "95 % interval"), rows,
                         right=("truth", "estimate", "95 % interval")))  # fmt: skip
    out().print("The release verifies." if done.valid else "The release does NOT verify.")
    note(f"Look at it: pramana verify {done.release}; pramana studio {to} shows the survey.")


def _begun(number: int, definition: Definition, port: int) -> None:
    """What people are told, and where they answer."""
    from pramana.cli.rendering import bullet, out

    out().print("A survey of people who do not exist. Each is told:", markup=False)
    for sentence in definition.consent()[:3]:
        bullet(out(), sentence)
    out().print(f"{number:,} people answer at http://127.0.0.1:{port}/ ...", markup=False)


def _half_way(seen: Live) -> None:
    """What an office sees while a survey is under way."""
    from pramana.base.text import floor_text
    from pramana.cli.rendering import out

    k = "none yet" if seen.status.k is None else floor_text(seen.status.k)
    out().print(f"Half way: {seen.status.answers:,} answers, k {k}.", markup=False)
    for table in seen.tables:
        for label, share, low, high in table.rows:
            line = f"  {label}: {share:.0%} ({low:.0%} to {high:.0%})"
            out().print(line, markup=False)


for verb in (new, check, serve, invite, status, close, demo):
    collect.command(help=help_of(verb))(verb)
