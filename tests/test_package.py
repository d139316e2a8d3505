"""Wheel and sdist: they build without a network, hold what they must, and install into a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import coterie

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel is built from the unpacked sdist, so what the sdist lacks would show."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def test_the_wheel_holds_the_package_and_no_more(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.startswith(f"coterie-{coterie.__version__}-py3")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"coterie-{coterie.__version__}.dist-info/METADATA").decode()
    assert "coterie/py.typed" in names
    package = ROOT / "src" / "coterie"
    sources = {
        f"coterie/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and not {"__pycache__", "machine_code"} & set(path.parts)
    }
    assert sources <= names  # modules, and data files such as taxonomies
    assert not [name for name in names if not name.startswith(("coterie/", "coterie-"))]
    assert any(name.endswith("/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    assert f"Version: {coterie.__version__}" in metadata


def test_the_sdist_holds_sources_and_tests(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    top = f"coterie-{coterie.__version__}"
    with tarfile.open(sdist) as archive:
        names = set(archive.getnames())
    for name in (
        "src/coterie/engines/in_memory.py",
        "tests/test_package.py",
        "pyproject.toml",
        "LICENSE",
        "README.md",
    ):
        assert f"{top}/{name}" in names
    assert not [name for name in names if ".venv" in name or "__pycache__" in name or "/.git/" in name]


def test_the_wheel_installs_into_a_fresh_environment_and_makes_a_release(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    home = tmp_path / "fresh"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    ran = subprocess.run(install, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    # The dependencies are lent by the environment of the tests; the package must be the installed one.
    (site,) = home.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    script = "import coterie, importlib.metadata as m; print(coterie.__file__, m.version('coterie'))"
    shown = subprocess.run(
        [python, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.split()
    assert Path(shown[0]).is_relative_to(site)
    assert shown[1] == coterie.__version__

    def run(*words: str) -> str:
        command = [home / "bin" / "coterie", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run("--version") == f"coterie {coterie.__version__}\n"
    assert "protect" in run("--help")
    release = (
        "import coterie; table, schema = coterie.demo_population(people=50), coterie.demo_schema(); "
        "print(coterie.protect(table, schema, method='laplace', epsilon=1).write('out.csv'), coterie.verify('out.csv'))"
    )
    made = subprocess.run(
        [python, "-I", "-c", release], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert made.stdout.startswith("<Written: ")
    assert "<Verification: the release has the bytes" in made.stdout
