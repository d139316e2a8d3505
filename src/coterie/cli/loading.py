"""Commands that are imported when they are asked for: `coterie --help` waits for no array library, and needs no extra."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Deferred:
    """Where a command is, and the line that stands for it in the guide (a test compares it with the command's own)."""

    place: str  # "module:attribute"; a Typer, or a function
    summary: str

    def load(self, name: str) -> Any:
        module, attribute = self.place.split(":")
        found = getattr(import_module(module), attribute)
        parent = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        parent.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            parent.add_typer(found, name=name)
        else:
            parent.command(name)(found)
        return typer.main.get_group(parent).commands[name]


def group_of(commands: dict[str, Deferred]) -> type[TyperGroup]:
    """A group of commands for `typer.Typer(cls=…)`."""

    class Loading(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            for name, deferred in commands.items():
                self.add_command(TyperCommand(name=name, callback=None, help=deferred.summary))

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return commands[cmd_name].load(cmd_name) if cmd_name in commands else None

        def format_help(self, ctx: Any, formatter: Any) -> None:
            self._listed().format_help(ctx, formatter)

        def shell_complete(self, ctx: Any, incomplete: str) -> Any:
            listed = self._listed()
            light = typer.Context(listed, info_name=ctx.info_name, resilient_parsing=True)
            return listed.shell_complete(light, incomplete)

        def _listed(self) -> TyperGroup:
            """The same group with lines in the place of commands."""
            return TyperGroup(
                name=self.name,
                commands=dict(self.commands),
                params=self.params,
                help=self.help,
                rich_markup_mode=self.rich_markup_mode,
            )

    return Loading
