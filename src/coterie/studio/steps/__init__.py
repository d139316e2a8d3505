"""The steps from a file to a release, in order. Each is one file with its routes and a deep link of its own."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.studio.project import Project


@dataclass(frozen=True, slots=True)
class StudioStep:
    name: str  # the last part of its address
    title: str
    needs: str  # "", "table", "schema" or "choice": what must be there before it can be used
    apart: bool = False  # beside the way to released rows

    def waits_for(self, project: Project) -> str:
        """Why this step cannot be used yet, or nothing."""
        if self.needs and project.state.loaded is None:
            return "Load a table first."
        if self.needs in ("schema", "choice") and not project.described:
            return "Describe every attribute first."
        if self.needs == "choice" and project.state.choice is None:
            return "Choose a release first."
        return ""

    def done(self, project: Project) -> bool:
        """Whether something of this step stands already."""
        match self.name:
            case "load":
                return project.state.loaded is not None
            case "describe":
                return project.described
            case "recommend":
                return project.state.choice is not None
            case "release":
                return bool(project.state.released)
        return (project.folder / f"{self.name}.json").exists()


STEPS = (
    StudioStep("load", "Load", ""),
    StudioStep("describe", "Describe", "table"),
    StudioStep("recommend", "Recommend", "schema"),
    StudioStep("look", "Look", "choice"),
    StudioStep("audit", "Audit", "choice"),
    StudioStep("release", "Release", "choice"),
    StudioStep("statistics", "Statistics", "schema", apart=True),
)
