"""Commands with two levels of help, and options from the registries of guarantees and methods.

The registries are read when such a command runs or shows its help, so that registered members of
other packages are offered too. ``--help`` shows the common options and the targets of the default
method, ``--method NAME --help`` the options of a method, ``--help-all`` all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS, cli_options, options_of

if TYPE_CHECKING:
    from pramana.methods.base import Option
    from pramana.types import Form

SELDOM = "Seldom"
"""The help panel of options that only ``--help-all`` shows."""

TARGET, OPTION, HELP_ALL = "target_", "option_", "help_all"
"""Names of generated parameters: two prefixes, and the switch of the long help."""


@dataclass(frozen=True)
class CliTargets:
    """Targets and method options of a command line.

    Attributes:
        numbers: targets by field; ``None`` where not given.
        options: options of methods by flag; only those given.
    """

    numbers: Form
    options: Form


class BriefCommand(TyperCommand):
    """A command whose ``--help`` is brief and whose ``--help-all`` is complete."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the verb, generated ones, and help."""
        *parameters, help_option = super().get_params(ctx)
        if "generated" not in ctx.meta:  # typer asks several times a command line
            ctx.meta["generated"] = _typer_options(self.generated(ctx))
        return [*parameters, *ctx.meta["generated"], help_option]

    def generated(self, ctx: Any) -> list[inspect.Parameter]:
        """Options that are not parameters of the verb."""
        del ctx
        return [_parameter(HELP_ALL, bool, "--help-all", "Show all options, and leave.")]

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
    """A command that takes targets and method options; ``context.obj`` is :class:`CliTargets`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the verb, with registered formats and engines, and generated ones."""
        parameters = super().get_params(ctx)
        if ctx.meta.get("all", True):
            registered = {"format_": format_names, "engine": engine_names}
            for parameter in parameters:
                if parameter.name in registered:
                    parameter.metavar = "|".join(registered[parameter.name]())
        return parameters

    def generated(self, ctx: Any) -> list[inspect.Parameter]:
        """Targets, and the options of methods if the command line holds any other flag.

        Listing the options of all methods imports all methods.
        """
        targets = [
            _parameter(TARGET + x.field, x.type, x.flag, x.help, metavar=x.metavar)
            for x in cli_options()
        ]
        options = _method_parameters() if ctx.meta.get("all", True) else []
        return [*targets, *options, *super().generated(ctx)]

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
        numbers: Form = {}
        options: Form = {}
        for name in list(ctx.params):
            if name.startswith(TARGET):
                numbers[name.removeprefix(TARGET)] = ctx.params.pop(name)
            elif name.startswith(OPTION):
                value = ctx.params.pop(name)
                if value is not None and value is not False and value not in ([], ()):
                    options[_flag(name.removeprefix(OPTION))] = value
        ctx.obj = CliTargets(numbers, options)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options, and a list of the methods with their targets."""
        super().format_options(ctx, formatter)
        lines = []
        for name, method in METHODS.items():
            flags = [target.flag for aim in method.aims for target in GUARANTEES[aim].cli_options]
            lines.append((name, f"{method.when} ({', '.join(flags)})" if flags else method.when))
        with formatter.section("Methods (--method NAME --help shows the options of one)"):
            formatter.write_dl(lines)


def method_names() -> list[str]:
    """The methods, for completion."""
    return list(METHODS)


def format_names() -> list[str]:
    """The formats that can be written."""
    return [name for name, file_format in FORMATS.items() if file_format.writes]


def engine_names() -> list[str]:
    """The engines that read files."""
    return [name for name, engine in ENGINES.items() if engine.reads_files]


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
        shown = help_all or parameter.name.removeprefix(TARGET) in _target_fields(method)
        return "Targets" if shown else None
    if parameter.name.startswith(OPTION):
        methods = list(options_by_flag()[_flag(parameter.name.removeprefix(OPTION))])
        if help_all:
            return f"With --method {', '.join(methods)}"
        return f"Options of method {method}" if method in methods else None
    if getattr(parameter, "rich_help_panel", None) == SELDOM:
        return SELDOM if help_all else None
    return "Options"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _target_fields(method: str | None) -> set[str]:
    """The target fields of a method; without one, the targets of the brief help."""
    if method is None:
        return {target.field for target in cli_options() if target.first}
    aims = METHODS[method].aims or list(GUARANTEES)
    return {target.field for aim in aims for target in GUARANTEES[aim].cli_options}


def _method_parameters() -> list[inspect.Parameter]:
    """The options of all methods."""
    parameters = []
    for flag, methods in options_by_flag().items():
        option = next(iter(methods.values()))
        kind: Any = list[str] if option.read else option.kind
        default = option.default
        shown = isinstance(default, str | int | float) and not isinstance(default, bool)
        parameters.append(
            _parameter(
                OPTION + flag.strip("-").replace("-", "_"),
                kind,
                flag,
                f"{option.help} ({default})" if shown else option.help,
                metavar=option.metavar,
                choices=option.choices,
            )
        )
    return parameters


def _typer_options(parameters: Sequence[inspect.Parameter]) -> list[Any]:
    """The options that typer makes of parameters."""

    def verb() -> None:
        """Never called: typer reads its signature."""

    verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    application = typer.Typer(add_completion=False)
    application.command()(verb)
    return list(typer.main.get_command(application).params)


def _parameter(
    name: str, kind: Any, flag: str, text: str, *, metavar: str = "", choices: Sequence[str] = ()
) -> inspect.Parameter:
    """An option that is ``None`` (or off) where it is not given."""
    option = typer.Option(
        flag,
        metavar=metavar or None,
        show_default=False,
        help=text,
        autocompletion=(lambda: list(choices)) if choices else None,
    )
    hint: Any = kind if kind is bool else kind | None
    annotation: Any = Annotated[hint, option]
    default = False if kind is bool else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
