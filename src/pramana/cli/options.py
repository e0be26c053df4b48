"""Options of the command line: where they are declared, and what their help shows.

A verb's parameters have simple types and defaults. Its docstring explains each under ``Options``,
or under ``Advanced`` where only ``--help-all`` shows it; typer takes them from there. Shared
options are explained here once.

Targets and the options of methods come from the registries, which are read when such a command runs
or shows its help, so that registered members of other packages are offered too. ``--help`` shows
the common options and the targets of the default method, ``--method NAME --help`` the options of a
method, ``--help-all`` all of them.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from inspect import cleandoc, signature
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

from pramana import Replicates, api
from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS, cli_options, options_of
from pramana.base.text import as_file, parts_of, pasted
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.methods.base import Option
    from pramana.types import Form

DOES_NOT_HOLD = 1
"""The exit code where a guarantee or a check does not hold."""

SELDOM = "Advanced"
"""The help panel of options that only ``--help-all`` shows."""

TARGET, OPTION, HELP_ALL = "target_", "option_", "help_all"
"""Names of generated parameters: two prefixes, and the switch of the long help."""

SHARED = """
Options:
  table FILE: The original data: CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel, R.
  folder RELEASE: A release folder.
  --schema TOML: What each column is, as 'pramana describe' writes it.
  --method NAME: One of the methods below; the default depends on the target.
  --where FILTER: sex=F, region=north|south or income>=50000; may be repeated.
  --level NUMBER: Confidence level of the intervals.
  --json: Print the result as one JSON object.

Advanced:
  --plan TOML: A file with schema, target, method and planned analyses; options take precedence.
  --origin WORD: Origin of method and target: declared, read-off or trials. The certificate
    states it.
  --simultaneous: Simultaneous confidence intervals.
  --unweighted: Ignore the weights.
  --replicates COLUMNS: Columns of replicate weights: PWGTP* or names with commas.
  --replication: Replication method of these weights; the ACS uses sdr.
  --fay NUMBER: Fay's factor, for --replication fay.
  --encoding NAME: Encoding of original data that are not UTF-8, such as cp1252.
  --rename: Make duplicate column names of the original data unique.
  --csv: Print the table as CSV.
"""

Infer: TypeAlias = Literal["records", "population"]
"""What intervals are about."""

Replication: TypeAlias = Literal["brr", "fay", "jackknife", "bootstrap", "sdr"]
"""How replicate weights were made."""


# -- options from docstrings -----------------------------------------------------------------------


def method_names() -> list[str]:
    """The methods, for completion."""
    return list(METHODS)


def listed_methods(incomplete: str) -> list[str]:
    """For completion of the last of several names with commas between them."""
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in method_names()]


def format_names() -> list[str]:
    """The formats that can be written."""
    return [name for name, file_format in FORMATS.items() if file_format.writes]


def engine_names() -> list[str]:
    """The engines that read files."""
    return [name for name, engine in ENGINES.items() if engine.reads_files]


REGISTERED = {"format_": format_names, "engine": engine_names}


def with_options(verb: Callable[..., None], *, shared: str = "") -> Callable[..., None]:
    """The verb, annotated for typer with the options that its docstring lists."""
    texts = (SHARED, shared, verb.__doc__ or "")
    listed = {name: entry for text in texts for name, entry in _options_in(text)}
    hints = get_type_hints(verb)
    for name, parameter in signature(verb).parameters.items():
        if name not in listed:
            continue  # the context of the command
        flags, metavar, text, panel = listed[name]
        if flags:
            complete: Any = REGISTERED.get(name)
            if name == "method" and metavar:
                complete = listed_methods if "list" in str(hints[name]) else method_names
            info = typer.Option(
                *flags, help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete
            )
        else:
            optional = metavar and parameter.default is not parameter.empty
            info = typer.Argument(
                help=text,
                metavar=f"[{metavar}]" if optional else metavar,
                show_default=False,
                case_sensitive=False,
            )
        verb.__annotations__[name] = Annotated[hints[name], info]
    return verb


def _options_in(text: str) -> Iterator[tuple[str, tuple[list[str], str | None, str, str | None]]]:
    """The parameter of each option that a docstring lists; its flags, metavar, help and panel."""
    for block in cleandoc(text).split("\n\n"):
        head, _, entries = block.partition(":\n")
        if head not in ("Options", SELDOM):
            continue
        for entry in re.split(r"^  (?=\S)", entries, flags=re.MULTILINE)[1:]:
            start, _, line = " ".join(entry.split()).partition(": ")
            words = start.split()
            flags = [word for word in words if word.startswith("-")]
            name = (flags or words)[0].partition("/")[0].strip("-").replace("-", "_")
            metavar = " ".join(words[len(flags) or 1 :])
            panel = SELDOM if head == SELDOM else None
            name = f"{name}_" if hasattr(builtins, name) else name
            yield name, (flags, metavar or None, line, panel)


def help_of(verb: Callable[..., None]) -> str:
    """The docstring without its options; the lines of its example stay unchanged."""
    blocks = cleandoc(verb.__doc__ or "").split("\n\n")
    shown = [block for block in blocks if not block.startswith(("Options:", f"{SELDOM}:"))]
    return "\n\n".join(shown).replace("\n\nExample:", "\n\n\b\nExample:")


# -- commands with two levels of help --------------------------------------------------------------


class BriefCommand(TyperCommand):
    """A command whose ``--help`` is brief and whose ``--help-all`` is complete."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the verb, generated ones, and help."""
        *parameters, help_option = super().get_params(ctx)
        if "generated" not in ctx.meta:  # typer asks several times a command line
            ctx.meta["generated"] = self.generated(ctx)
        return [*parameters, *ctx.meta["generated"], help_option]

    def generated(self, ctx: Any) -> list[TyperOption]:
        """Options that are not parameters of the verb."""
        del ctx
        return [_option(HELP_ALL, bool, "--help-all", "Show all options, and leave.")]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note ``--help-all`` before anything is parsed."""
        ctx.meta[HELP_ALL] = "--help-all" in args
        rest: list[str] = super().parse_args(ctx, ["--help"] if ctx.meta[HELP_ALL] else args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, which has no parameter for the switch of the long help."""
        ctx.params.pop(HELP_ALL, None)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section of help a kind of options."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Targets": []}
        help_all = bool(ctx.meta.get(HELP_ALL))
        for parameter in self.get_params(ctx):
            section = _section(parameter, ctx.meta.get("method"), help_all=help_all)
            record = parameter.get_help_record(ctx)
            if section is not None and record is not None:
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        if not help_all:
            formatter.write_paragraph()
            formatter.write(f"{ctx.command_path} --help-all shows all options.\n")


class PlanCommand(BriefCommand):
    """A command that takes targets and method options.

    ``context.obj`` holds the targets by field (``None`` if not given) and the given options of
    methods by flag.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the verb, with registered formats and engines, and generated ones."""
        parameters = super().get_params(ctx)
        if ctx.meta.get("all", True):
            for parameter in parameters:
                if parameter.name in REGISTERED:
                    parameter.metavar = "|".join(REGISTERED[parameter.name]())
        return parameters

    def generated(self, ctx: Any) -> list[TyperOption]:
        """Targets, and the options of methods if the command line holds any other flag.

        Listing the options of all methods imports all methods.
        """
        options = [
            _option(TARGET + x.field, x.type, x.flag, x.help, metavar=x.metavar)
            for x in cli_options()
        ]
        if ctx.meta.get("all", True):
            for flag, methods in options_by_flag().items():
                first = next(iter(methods.values()))
                kind: Any = list[str] if first.read else first.kind
                shown = type(first.default) in (str, int, float)
                text = f"{first.help} ({first.default})" if shown else first.help
                name = OPTION + flag.strip("-").replace("-", "_")
                options.append(
                    _option(name, kind, flag, text, metavar=first.metavar, choices=first.choices)
                )
        return [*options, *super().generated(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note the method, whose options the help shows, and whether method options are needed."""
        ctx.meta["method"] = _method_in(args)
        known = {flag for parameter in self.params for flag in parameter.opts}
        known |= {target.flag for target in cli_options()}
        flags = {word.partition("=")[0] for word in args if word.startswith("-")}
        ctx.meta["all"] = ctx.resilient_parsing or not flags <= known
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb with the values of generated options in ``context.obj``."""
        targets: Form = {}
        options: Form = {}
        for name in list(ctx.params):
            if name.startswith(TARGET):
                targets[name.removeprefix(TARGET)] = ctx.params.pop(name)
            elif name.startswith(OPTION):
                value = ctx.params.pop(name)
                if value is not None and value is not False and value not in ([], ()):
                    options[_flag(name)] = value
        ctx.obj = (targets, options)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options, and a list of the methods with their targets."""
        super().format_options(ctx, formatter)
        named = ctx.meta.get("method")
        if named or ctx.meta.get(HELP_ALL):
            with formatter.section("Method" if named else "Methods"):
                names = [named] if named else METHODS
                formatter.write_dl([(name, _method_text(name)) for name in names])
        else:
            text = f"Methods (--method NAME --help explains one): {', '.join(METHODS)}."
            formatter.write("\n" + fill(text, formatter.width, break_on_hyphens=False) + "\n")


def _method_text(name: str) -> str:
    """When a method is used, and the targets that it takes."""
    method = METHODS[name]
    flags = [target.flag for aim in method.aims for target in GUARANTEES[aim].cli_options]
    return f"{method.when} ({', '.join(flags)})" if flags else method.when


def options_by_flag() -> dict[str, dict[str, Option]]:
    """Every option of every method: by its flag, then by the names of the methods that have it."""
    options: dict[str, dict[str, Option]] = {}
    for name, method in METHODS.items():
        for option in options_of(method):
            options.setdefault(option.flag, {})[name] = option
    return options


def _method_in(args: Sequence[str]) -> str | None:
    """The known method that an unparsed command line names, if any."""
    for place, word in enumerate(args):
        name = word.removeprefix("--method=")
        if word == "--method" and place + 1 < len(args):
            name = args[place + 1]
        if word.startswith("--method") and name in METHODS:
            return name
    return None


def _section(parameter: Any, method: str | None, *, help_all: bool) -> str | None:
    """The heading under which a parameter is shown; ``None`` if this help does not show it."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    if parameter.name == HELP_ALL:
        return None
    if parameter.name.startswith(TARGET):
        if method is None:
            shown = {target.field for target in cli_options() if target.first}
        else:
            aims = METHODS[method].aims or list(GUARANTEES)
            shown = {target.field for aim in aims for target in GUARANTEES[aim].cli_options}
        return "Targets" if help_all or parameter.name.removeprefix(TARGET) in shown else None
    if parameter.name.startswith(OPTION):
        methods = list(options_by_flag()[_flag(parameter.name)])
        if help_all:
            return f"With --method {', '.join(methods)}"
        return f"Options of method {method}" if method in methods else None
    if getattr(parameter, "rich_help_panel", None) == SELDOM:
        return SELDOM if help_all else None
    return "Options"


def _flag(name: str) -> str:
    return f"--{name.removeprefix(OPTION).replace('_', '-')}"


def _option(
    name: str, kind: Any, flag: str, text: str, *, metavar: str = "", choices: Sequence[str] = ()
) -> TyperOption:
    """An option that is ``None`` (or off) where it is not given."""
    several = kind == list[str]
    return TyperOption(
        param_decls=[flag, name],
        type=str if several else kind,
        is_flag=kind is bool,
        multiple=several,
        default=False if kind is bool else None,
        metavar=metavar or None,
        show_default=False,
        help=text,
        autocompletion=(lambda *_: list(choices)) if choices else None,
    )


# -- values of options -----------------------------------------------------------------------------


def original_data(path: Path | None, encoding: str | None, rename: bool = False) -> Any:
    """The path of the original data, or what is read there in the declared encoding."""
    if path is None or (encoding is None and not rename):
        return path
    return api.read(path, encoding=encoding, rename=rename)


def reading(encoding: str | None, rename: bool) -> tuple[str, ...]:
    """How the original data were read, as words of a command to paste.

    >>> reading("cp1252", True), reading(None, False)
    (('--encoding', 'cp1252', '--rename'), ())
    """
    words = ("--encoding", encoding) if encoding else ()
    return (*words, "--rename") if rename else words


def names_of(lists: list[str] | None) -> list[str]:
    """Column names from options that may repeat and may hold several, separated by commas.

    >>> names_of(["sex, age", "region", '"pets, if any"'])
    ['sex', 'age', 'region', 'pets, if any']
    """
    return [name for part in lists or () for name in parts_of(part)]


def numbers_of(option: str, lists: list[str] | None, example: str) -> list[float]:
    """Numbers from an option that may repeat and may hold several, separated by commas."""
    try:
        return [float(text) for text in names_of(lists)]
    except ValueError:
        raise InputError(f"{option} takes numbers with commas, such as {example}.") from None


def require_schema(schema: Path | None, table: Path | None) -> Path:
    """Nothing is decided silently: without a schema there is advice and no guess."""
    if schema is None:
        file = "FILE" if table is None else as_file(str(table))
        look = pasted(["pramana", "describe", file, "-o", "schema.toml"])
        raise InputError(
            "A schema must say what each column is, and none was given. Look at what is suggested "
            f"and add --schema schema.toml: {look}"
        )
    return schema


def replicates_of(
    columns: list[str] | None, kind: Replication, fay: float | None
) -> Replicates | None:
    """The replicate weights that were named, if any."""
    names = names_of(columns)
    if not names:
        return None
    return Replicates(names[0] if len(names) == 1 else tuple(names), kind=kind, fay=fay)
