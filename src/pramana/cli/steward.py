"""Commands whose options come from the registries of guarantees and methods.

The registries are asked when such a command runs or shows its help, so that what others have
registered is offered too. The first screen of help has what is common and the targets of the usual
method; ``--method NAME --help`` has those of a method, ``--more`` has all.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pramana.guarantees.base import Letter
    from pramana.methods.base import Method, Option
    from pramana.types import Form

__all__ = [
    "SELDOM",
    "BriefCommand",
    "StewardCommand",
    "Wishes",
    "engine_names",
    "format_names",
    "method_names",
    "options_by_flag",
]

SELDOM = "Seldom needed"
"""Options of this panel are not on the first screen."""

TARGET, OPTION, MORE = "target_", "option_", "more"


@dataclass(frozen=True)
class Wishes:
    """What was given for the options that the registries offer.

    Attributes:
        numbers: of targets, by field; ``None`` where not given.
        options: of methods, by flag; only those given.
    """

    numbers: Form
    options: Form


class BriefCommand(TyperCommand):
    """Its first screen of help has what is common; ``--more`` has all options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own, ``--more`` and help."""
        *own, help_option = super().get_params(ctx)
        if "generated" not in ctx.meta:  # asked for more than once a command line
            ctx.meta["generated"] = self.generated(ctx)
        return [*own, *ctx.meta["generated"], help_option]

    def generated(self, ctx: Any) -> list[Any]:
        """Options that are not parameters of the verb."""
        del ctx
        return _made([_more()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for what decides over the help before anything is parsed."""
        ctx.meta["more"] = "--more" in args
        parsed: list[str] = super().parse_args(ctx, ["--help"] if ctx.meta["more"] else args)
        return parsed

    def invoke(self, ctx: Any) -> Any:
        """``--more`` is no matter of the verb."""
        ctx.params.pop(MORE, None)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Sections; those of a screen that is not the first with --more."""
        parts: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Targets": []}
        method, more = ctx.meta.get("method"), bool(ctx.meta.get("more"))
        for parameter in self.get_params(ctx):
            section = _section(parameter, method, more=more)
            record = parameter.get_help_record(ctx)
            if section is not None and record is not None:
                parts.setdefault(section, []).append(record)
        for section, records in parts.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        if not more:
            formatter.write_paragraph()
            formatter.write(f"{ctx.command_path} --more shows all options.\n")


class StewardCommand(BriefCommand):
    """Takes targets and the options of methods; ``context.obj`` is what was :class:`Wishes`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own, those of the registries, and help."""
        found = super().get_params(ctx)
        if not ctx.meta.get("all", True):
            return found
        offered = {"file_format": format_names, "engine": engine_names}
        for parameter in found:
            if parameter.name in offered:
                parameter.metavar = "|".join(offered[parameter.name]())
        return found

    def generated(self, ctx: Any) -> list[Any]:
        """The options of the registries: targets alone where nothing else is on the command line.

        To know the options of all methods is to load all of them.
        """
        return _made([*_targets(), *(_options() if ctx.meta.get("all", True) else ()), _more()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The method decides over the help too."""
        ctx.meta["method"] = _stated_method(args)
        own = {flag for parameter in self.params for flag in parameter.opts}
        known = own | {letter.flag for letter in _letters()}
        ctx.meta["all"] = ctx.resilient_parsing or not _flags(args) <= known
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Hand on what was given for generated options."""
        own = {parameter.name for parameter in self.params}
        given = {name: ctx.params.pop(name) for name in list(ctx.params) if name not in own}
        numbers, options = (
            {name.removeprefix(kind): v for name, v in given.items() if name.startswith(kind)}
            for kind in (TARGET, OPTION)
        )
        stated = {_flag(name): v for name, v in options.items() if _given(v)}
        ctx.obj = Wishes(numbers, stated)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Sections: what is common, targets, the options of a method, and all methods."""
        super().format_options(ctx, formatter)
        with formatter.section("Methods (--method NAME --help shows the options of one)"):
            formatter.write_dl([(name, _line(one)) for name, one in _methods().items()])


def method_names() -> list[str]:
    """For completion."""
    return list(_methods())


def format_names() -> list[str]:
    """The formats that can be written."""
    from pramana.api import FORMATS

    return [name for name, one in FORMATS.items() if one.writes]


def engine_names() -> list[str]:
    """The engines that can be asked to do the work on a file."""
    from pramana.api import ENGINES

    return [name for name, one in ENGINES.items() if one.reads_files]


def options_by_flag() -> dict[str, dict[str, Option]]:
    """Every option of every method: by its flag, then by the names of the methods that have it."""
    from pramana.api import options_of

    found: dict[str, dict[str, Option]] = {}
    for name, method in _methods().items():
        for option in options_of(method):
            found.setdefault(option.flag, {})[name] = option
    return found


def _methods() -> dict[str, type[Method]]:
    from pramana.api import METHODS

    return dict(METHODS)


def _stated_method(args: Sequence[str]) -> str | None:
    """The method on a command line that is not yet parsed, if it is one."""
    from pramana.api import METHODS

    for place, word in enumerate(args):
        name = word.removeprefix("--method=")
        if word == "--method" and place + 1 < len(args):
            name = args[place + 1]
        if word.startswith("--method") and name in METHODS:
            return name
    return None


def _section(parameter: Any, method: str | None, *, more: bool) -> str | None:
    """Under which heading a parameter is shown; nowhere if not on this screen."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    if parameter.name == MORE:
        return None
    if parameter.name.startswith(TARGET):
        return "Targets" if more or parameter.name.removeprefix(TARGET) in _aimed(method) else None
    if parameter.name.startswith(OPTION):
        having = list(options_by_flag()[_flag(parameter.name.removeprefix(OPTION))])
        if more:
            return f"With --method {', '.join(having)}"
        return f"Options of method {method}" if method in having else None
    seldom = getattr(parameter, "rich_help_panel", None) == SELDOM
    return (SELDOM if seldom else "Options") if more or not seldom else None


def _given(value: object) -> bool:
    return value is not None and value is not False and value not in ([], ())


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _aimed(method: str | None) -> set[str]:
    """The numbers of the targets of a method; without one, those that are for the first screen."""
    from pramana.api import GUARANTEES, letters

    if method is None:
        return {x.field for x in letters() if x.first}
    aims = _methods()[method].aims or list(GUARANTEES)
    return {x.field for name in aims for x in GUARANTEES[name].letters}


def _line(method: type[Method]) -> str:
    """When to use a method, and how its targets are stated."""
    from pramana.api import GUARANTEES

    flags = [letter.flag for name in method.aims for letter in GUARANTEES[name].letters]
    return f"{method.when} ({', '.join(flags)})" if flags else method.when


def _letters() -> tuple[Letter, ...]:
    from pramana.api import letters

    return letters()


def _flags(args: Sequence[str]) -> set[str]:
    """Every word of a command line that may be an option by its name.

    >>> sorted(_flags(["people.csv", "--k=3", "--force", "-o", "out"]))
    ['--force', '--k', '-o']
    """
    return {word.partition("=")[0] for word in args if word.startswith("-")}


def _targets() -> list[inspect.Parameter]:
    """What can be asked of a release."""
    return [
        _parameter(TARGET + x.field, x.type, x.flag, x.help, metavar=x.metavar) for x in _letters()
    ]


def _options() -> list[inspect.Parameter]:
    """The options of all methods."""
    made = []
    for flag, having in options_by_flag().items():
        option = next(iter(having.values()))
        kind: Any = list[str] if option.read else option.kind
        default = option.default
        shown = isinstance(default, str | int | float) and not isinstance(default, bool)
        text = f"{option.help} ({default})" if shown else option.help
        made.append(
            _parameter(OPTION + flag.strip("-").replace("-", "_"), kind, flag, text,
                       metavar=option.metavar, choices=option.choices)
        )  # fmt: skip
    return made


def _more() -> inspect.Parameter:
    return _parameter(MORE, bool, "--more", "Show all options, and leave.")


def _made(made: Sequence[inspect.Parameter]) -> list[Any]:
    """Options as typer makes them."""

    def verb() -> None:
        """Never called: its parameters are wanted."""

    verb.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    verb.__annotations__ = {one.name: one.annotation for one in made}
    small = typer.Typer(add_completion=False)
    small.command()(verb)
    return list(typer.main.get_command(small).params)


def _parameter(
    name: str, kind: Any, flag: str, text: str, *, metavar: str = "", choices: Sequence[str] = ()
) -> inspect.Parameter:
    """An option that is ``None`` (or off) where it is not given."""
    complete = (lambda: list(choices)) if choices else None
    option = typer.Option(
        flag, metavar=metavar or None, show_default=False, help=text, autocompletion=complete
    )
    hint: Any = kind if kind is bool else kind | None
    annotation: Any = Annotated[hint, option]
    default = False if kind is bool else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
