"""The steps from a file to a release, in order. Each is one file with its routes and a deep link of its own."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.studio.project import Project


@dataclass(frozen=True, slots=True)
class StudioStep:
    name: str  # the last part of its address
    title: str
    needs: str  # "", "table", "schema" or "choice": what must be there before it can be used

    def waits_for(self, project: Project) -> str:
        """Why this step cannot be used yet, or nothing."""
        if self.needs and project.state.loaded is None:
            return "Load a table first."
        if self.needs in ("schema", "choice") and not project.described:
            return "Describe every attribute first."
        if self.needs == "choice" and project.state.choice is None:
            return "Choose a method first."
        return ""


STEPS = (
    StudioStep("load", "Load", ""),
    StudioStep("describe", "Describe", "table"),
    StudioStep("choose", "Choose", "schema"),
    StudioStep("look", "Look", "choice"),
    StudioStep("audit", "Audit", "choice"),
    StudioStep("release", "Release", "choice"),
    StudioStep("statistics", "Statistics", "schema"),
)
