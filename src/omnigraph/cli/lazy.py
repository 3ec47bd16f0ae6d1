"""Command groups whose modules are imported on demand.

Names and summaries of the commands are in a table, so that neither help nor a command pays for the imports of another
command.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click

from omnigraph.cli.exit_codes import OK
from omnigraph.cli.reach import files_reason, refusal
from omnigraph.cli.show.logs import log_options
from omnigraph.core.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of a group. Its module defines it as ``command``; the summary repeats the first line of its help."""

    section: str
    module: str
    summary: str
    aliases: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = ()
    """Hidden names that still work and print a deprecation note."""


class CommandGroup(click.Group):
    """A group that prints its help when it is called without a command, and suggests names for misspelled ones.

    ``aliases`` are other, hidden names of its commands.
    """

    def __init__(self, name: str | None = None, *, aliases: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(name, **{**settings, "invoke_without_command": True, "no_args_is_help": False})
        self.callback = _show_help
        self.aliases = aliases or {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def names(self) -> list[str]:
        """All accepted names."""
        return [*self.commands, *self.aliases]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        wrong = args[0]
        if wrong not in self.names() and not wrong.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command '{wrong}'{self._suggestion(wrong)}", ctx)
        return super().resolve_command(ctx, args)

    def _suggestion(self, wrong: str) -> str:
        from difflib import get_close_matches

        close = get_close_matches(wrong.lower(), self.names(), n=1)
        return f"; did you mean '{close[0]}'?" if close else ""


def _show_help() -> int:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return OK


_SCOPES: Final = ("--server", "--cluster", "--graph", "--store", "--as", "--profile")
"""Options of Omnigraph 0.10 that every command accepts, some of them only to refuse them."""


def _add_common_options(command: click.Command, path: str) -> None:
    """Give a command and its subcommands the options that every command accepts."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _add_common_options(inner, f"{path} {name}")
    elif not any(param.name == "verbose" for param in command.params):
        command.params += log_options()
        known = {name for param in command.params for name in param.opts}
        # Scripts may pass these flags to any command; where there is nothing to silence or confirm they do nothing.
        command.params += [
            click.Option(names, is_flag=True, hidden=True, expose_value=False)
            for names in (["--quiet", "-q"], ["--yes", "-y"])
            if known.isdisjoint(names)
        ]
        if files_reason(path) is not None:
            has_cluster = _has(command, "--cluster")
            hidden = ("server",) if has_cluster else ("server", "graph_id")
            command.params = [param for param in command.params if param.name not in hidden]
        command.params += [_refused(option, path) for option in _SCOPES if not _has(command, option)]


def _has(command: click.Command, option: str) -> bool:
    return any(option in param.opts for param in command.params)


def _refused(option: str, path: str) -> click.Option:
    """An option that a command does not take, with the reason in its error."""

    def refuse(ctx: click.Context, _option: click.Parameter, given: str | None) -> None:
        if given is not None and not ctx.resilient_parsing:
            raise click.UsageError(f"{option} does not apply to `{path}`: {refusal(path, option)}", ctx)

    return click.Option([option], hidden=True, expose_value=False, callback=refuse)


class LazyGroup(CommandGroup):
    """A group that imports the module of a command when the command is called."""

    def __init__(self, name: str, entries: Mapping[str, Entry], *, help: str, epilog: str | None = None) -> None:
        super().__init__(name, help=help, epilog=epilog)
        self.entries = entries
        self._names = {alias: command for command, entry in entries.items() for alias in (command, *entry.aliases)}
        self._deprecated = {old: command for command, entry in entries.items() for old in entry.deprecated}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._names.get(cmd_name) or self._deprecated.get(cmd_name)
        if name is None:
            return None
        command = import_module(self.entries[name].module).command
        assert isinstance(command, click.Command), f"{self.entries[name].module}.command is not a command"
        _add_common_options(command, name)
        return command

    def names(self) -> list[str]:
        return [*self._names, *self._deprecated]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        old = args[0]
        if old in self._deprecated and not ctx.resilient_parsing:
            click.echo(f"note: `{old}` is deprecated, use `{self._deprecated[old]}`", err=True)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            also = f" (also: {', '.join(entry.aliases)})" if entry.aliases else ""
            sections.setdefault(entry.section, []).append((name, entry.summary + also))
        width = max(len(name) for name in self.entries)
        for section, lines in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in lines])
