"""``pramana collect``: people randomise their own answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pramana import collect as office
from pramana.base.processes import listener_at
from pramana.base.text import as_file, floor_text, listed, pasted
from pramana.cli.options import DOES_NOT_HOLD, help_of, names_of, with_options
from pramana.cli.rendering import bullet, note, out, show_json, show_verdict, table_of

if TYPE_CHECKING:
    from pramana.collect.closing import Live
    from pramana.collect.definition import Definition

collect = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    help=(
        "Run a survey in which respondents randomise their own answers.\n\n"
        "\b\n"
        "Example:\n"
        "  pramana collect new survey.toml -o survey/     the plan, the page, the guarantee\n"
        "  pramana collect serve survey/                  people answer\n"
        "  pramana collect close survey/ -o release/      a release like any other"
    ),
    rich_markup_mode=None,
)


@collect.callback()
def _options(context: typer.Context) -> None:
    # Without a docstring: the description is in ``collect``.
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


SHARED = """
Options:
  folder SURVEY: A survey folder.
  --database URL: Answers in PostgreSQL: postgresql://...
  --wave NUMBER: Wave of a panel.
  --sign KEY: Private key that signs.
"""


def new(
    survey: Path,
    output: Path,
    sign: Path | None = None,
    json: bool = False,
) -> None:
    """Make a survey folder: plan, page and consent text.

    Options:
      survey TOML: Survey file.
      --output -o FOLDER: Output folder.

    Example:
      pramana collect new survey.toml -o survey/
    """
    definition, plan = office.new_survey(survey, output, sign_with=sign)
    if json:
        show_json(plan.to_json() | {"identity": definition.identity, "page": definition.page})
        return
    console = out()
    how = "whole records" if definition.method == "retention" else "reports of some questions"
    error = "" if plan.expected_error is None else f" {plan.expected_error.sentence()}"
    out().print(f"Survey {definition.identity[:16]}: {how}.{error}", markup=False)
    others = plan.statistics.get("unnamed", ())
    if others:
        bullet(
            out(),
            f"No table of the survey names {listed(others)}: few people are asked these "
            "questions, since the others answer the tables. Add them to tables, or leave the "
            "questions out.",
        )
    for sentence in definition.consent():
        bullet(console, sentence)
    for entry in ("contact", "retention"):
        if not getattr(definition.survey, entry):
            note(f"The survey states no {entry}: its page says that the office does not state it.")
    note(f"Try it: pramana collect serve {output}")


def check(
    folder: Path,
    key: Path | None = None,
    json: bool = False,
) -> None:
    """Check a survey before you answer: its guarantees, its page and its signature.

    The page is generated again from the definition and compared. The exit code is 1 if a check
    fails.

    Options:
      --key PUB: Public key of the office.

    Example:
      pramana collect check survey/ --key office.key.pub
    """
    verdict = office.check_survey(folder, key=key)
    if json:
        show_json(verdict.to_json())
    else:
        show_verdict(verdict, what="survey")
    if not verdict.valid:
        raise typer.Exit(DOES_NOT_HOLD)


def serve(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    public_address: str | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    database: str | None = None,
    wave: int | None = None,
) -> None:
    """Serve the page and collect randomised answers until stopped.

    Answers of other machines must be encrypted. State the HTTPS address of a reverse proxy, or give
    a TLS certificate. Let the proxy keep no log of addresses and limit connections per client.

    Options:
      --host NAME: Address to listen at.
      --port NUMBER: Port; 0 takes a free one.
      --public-address URL: HTTPS address of the reverse proxy in front.
      --tls-cert FILE: TLS certificate (PEM).
      --tls-key FILE: Its private key.

    Example:
      pramana collect serve survey/ --public-address https://survey.example.org
    """
    office.require_server()
    encryption = office.Encryption(tls_cert, tls_key, public_address)
    encryption.require_for(host)
    definition, page = office.load_survey(folder)
    definition = definition.of_wave(wave)
    with office.opened_store(folder, definition, database) as store, listener_at(host, port) as at:
        if definition.consent() != office.consent_of(definition):
            by = definition.maker or "of an earlier version"
            note(f"Respondents see the texts of pramana {by}, not of this version.")
        if page != office.page_of(definition):
            note("The page is not the one that this version makes: see pramana collect check.")
        if store.finished():
            note("This survey is closed: it accepts no more answers, and the page says so.")
        scheme = "http" if tls_cert is None else "https"
        where = public_address or f"{scheme}://{host}:{at.getsockname()[1]}/"
        out().print(f"The survey runs at {where} until you stop this command.", markup=False)
        out().file.flush()
        office.serve_survey(definition, store, page, at, encryption=encryption)


def invite(
    folder: Path,
    number: int,
    output: Path,
    database: str | None = None,
    json: bool = False,
) -> None:
    """Draw invitation codes, each of which lets one person answer once.

    Options:
      number NUMBER: Number of codes.
      --output -o FILE: The file of codes.

    Example:
      pramana collect invite survey/ 5000 -o codes.txt
    """
    office.invite(folder, office.load(folder), number, output, database=database)
    if json:
        show_json({"codes": number, "file": str(output)})
        return
    codes = "1 code is" if number == 1 else f"{number:,} codes are"
    note(f"{codes} in {output}. Send one to each person, and then remove the file.")


def status(
    folder: Path,
    by: list[str] | None = None,
    database: str | None = None,
    wave: int | None = None,
    json: bool = False,
) -> None:
    """Show the number of answers, their guarantees, and suspicious patterns.

    Options:
      --by COLUMNS: Table to estimate from the answers so far.

    Example:
      pramana collect status survey/
      pramana collect status survey/ --by travel
    """
    definition = office.load(folder).of_wave(wave)
    names = names_of(by)
    with office.seen_store(folder, definition, database) as store:
        current = office.status_of(definition, store)
        table = office.collected_release(definition, store).crosstab(*names) if names else None
    if json:
        show_json(current.to_json() | ({} if table is None else {"estimate": table.to_json()}))
        return
    console = out()
    answers = "1 answer" if current.answers == 1 else f"{current.answers:,} answers"
    console.print(f"{answers} of {current.expected:,} expected; {current.minimum:,} are needed.")
    for sentence in current.sentences:
        bullet(console, sentence)
    for sentence in (*current.short, *current.suspicions):
        bullet(console, sentence, style="yellow")
    if table is not None:
        console.print(str(table), markup=False)


def close(
    folder: Path,
    output: Path,
    database: str | None = None,
    wave: int | None = None,
    sign: Path | None = None,
    accept_failed: bool = False,
    json: bool = False,
) -> None:
    """Close the survey and publish the answers as a release folder.

    Closing is final. It needs the minimum number of answers that the survey states.

    Options:
      --output -o FOLDER: Release folder.
      --accept-failed: Close although 'pramana verify' would fail.

    Example:
      pramana collect close survey/ -o release/
    """
    definition = office.load(folder).of_wave(wave)
    with office.opened_store(folder, definition, database) as store:
        release = office.close_survey(
            definition, store, output, sign_with=sign, accept_failed=accept_failed
        )
        odd = office.status_of(definition, store).suspicions
    short = definition.short_of(release.records)
    if definition.overstated:
        note("People were shown a stronger guarantee than the certificate states: inform them.")
    for words in (*short, *odd):
        note(words)
    if json:
        sentences = release.certificate.sentences()
        show_json({"release": str(output), "records": release.records, "sentences": sentences,
                   "short": short, "suspicions": list(odd)})  # fmt: skip
        return
    console = out()
    console.print(f"{output} holds {release.records:,} answers.", markup=False)
    for sentence in release.certificate.sentences():
        bullet(console, sentence)
    note(f"Verify: {pasted(['pramana', 'verify', as_file(str(output))])}")


def demo(
    people: int = 5000,
    output: Path = Path("collect-demo"),
    json: bool = False,
) -> None:
    """Run a survey with simulated respondents, from the page to the release.

    They answer over HTTP, as the page does. Only the simulation knows the original answers. Shows
    the status when half have answered, closes the survey, and verifies the release.

    Options:
      --people NUMBER: Number of simulated respondents.
      --output -o FOLDER: Output folder.

    Example:
      pramana collect demo
    """
    if json:
        done = office.demonstrate(people, output)
    else:
        done = office.demonstrate(people, output, begun=partial(_begun, people), half_way=_half_way)
    rows = [
        (cell["travel"], f"{done.original.get(cell['travel'], 0):,}", f"{cell['estimate']:,.0f}",
         f"{cell['low']:,.0f} to {cell['high']:,.0f}")
        for cell in done.estimate.cells
    ]  # fmt: skip
    if json:
        show_json({"people": people, "accepted": done.accepted, "half": done.half.to_json(),
                   "valid": done.valid, "release": str(done.release), "travel": rows})  # fmt: skip
        return
    out().print(f"{done.accepted:,} were accepted. How they get to work:", markup=False)
    out().print(table_of(("travel", "truth", "estimate", "95 % interval"), rows,
                         right=("truth", "estimate", "95 % interval")))  # fmt: skip
    out().print("The release verifies." if done.valid else "The release is NOT valid.")
    note(f"Look at it: pramana verify {done.release}; pramana studio {output} shows the survey.")


def _begun(number: int, definition: Definition, port: int) -> None:
    """What people read, and where they answer."""
    out().print("A survey of simulated respondents. Each reads:", markup=False)
    for sentence in definition.consent()[:3]:
        bullet(out(), sentence)
    out().print(f"{number:,} people answer at http://127.0.0.1:{port}/ ...", markup=False)


def _half_way(seen: Live) -> None:
    """What an office sees while a survey is under way."""
    k = "none yet" if seen.status.k is None else floor_text(seen.status.k)
    out().print(f"Half way: {seen.status.answers:,} answers, k {k}.", markup=False)
    for table in seen.tables:
        for label, share, low, high in table.rows:
            line = f"  {label}: {share:.0%} ({low:.0%} to {high:.0%})"
            out().print(line, markup=False)


for verb in (new, check, serve, invite, status, close, demo):
    collect.command(help=help_of(verb))(with_options(verb, shared=SHARED))
