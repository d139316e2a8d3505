"""Without a ledger too: asked twice, drawn once; kept privately, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from statistics_people import document, population

from coterie import make_key, verify
from coterie.errors import OutputError, ParameterError
from coterie.publication.ledger import Ledger
from coterie.statistics import read_specification, release
from coterie.statistics.releasing import publishing
from coterie.statistics.releasing.released_files import store_folder
from coterie.statistics.releasing.tidy_table import ENDINGS


def test_another_file_gets_the_same_bytes_and_nothing_is_drawn(tmp_path: Path) -> None:
    specification = read_specification(document())
    first = release(specification, population(), tmp_path / "one.csv")
    second = release(specification, population(), tmp_path / "two.csv")
    assert (first.again, second.again) == (False, True)
    assert second.content == first.content == (tmp_path / "two.csv").read_bytes()
    assert second.certificate == first.certificate
    assert release(specification, population(), tmp_path / "one.csv").again


def test_other_data_or_another_name_are_another_release(tmp_path: Path) -> None:
    specification = read_specification(document())
    first = release(specification, population(), tmp_path / "one.csv")
    others = [
        release(specification, population(seed=12), tmp_path / "two.csv"),
        release(read_specification(document(release="another")), population(), tmp_path / "three.csv"),
    ]
    assert not any(other.again or other.content == first.content for other in others)
    assert not first.warning
    assert "the budgets add up" in others[0].warning, (
        "the same name was drawn from other data: nobody counts that"
    )
    assert not others[1].warning
    assert not release(specification, population(seed=12), tmp_path / "four.csv").warning, (
        "asked again, not drawn"
    )


@pytest.mark.parametrize("change", ["budget", "allocator", "solve"])
def test_a_changed_plan_of_the_same_name_is_refused_in_any_file(tmp_path: Path, change: str) -> None:
    """It would draw again from the same people: the file it is asked into makes no difference."""
    content = document(equations={"share": {"formula": "n[yes] / n[no]", "tolerance": 1}})
    release(read_specification(content), population(), tmp_path / "one.csv")
    content |= {"budget": {"epsilon": "1"}} if change == "budget" else {}
    options = {"budget": {}, "allocator": {"allocator": "uniform"}, "solve": {"solve": True}}[change]
    with pytest.raises(ParameterError, match="already published, under another plan"):
        release(read_specification(content), population(), tmp_path / "two.csv", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "two.csv").exists()


def test_other_data_do_not_get_the_file_of_these(tmp_path: Path) -> None:
    specification = read_specification(document())
    release(specification, population(), tmp_path / "one.csv")
    with pytest.raises(OutputError, match="exists already"):
        release(specification, population(seed=12), tmp_path / "one.csv")


def test_another_ending_is_the_same_release_with_a_ledger_and_without(tmp_path: Path) -> None:
    specification = read_specification(document())
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "10")
    for ledger in (None, tmp_path / "ledger.sqlite"):
        first = release(specification, population(), tmp_path / f"{bool(ledger)}.csv", ledger=ledger)
        for ending in ENDINGS:
            path = tmp_path / f"{bool(ledger)}-again{ending}"
            again = release(specification, population(), path, ledger=ledger)
            assert again.again
            assert again.to_frame().equals(first.to_frame())
            assert verify(path).certificate == again.certificate
            assert again.certificate.guarantee == first.certificate.guarantee
            assert release(specification, population(), path, ledger=ledger).content == again.content
    assert Ledger.inspect(tmp_path / "ledger.sqlite").balance("people").spent == 2


def test_other_files_of_a_signed_release_are_signed(tmp_path: Path) -> None:
    specification, key = read_specification(document()), tmp_path / "key"
    mark = make_key(key)
    release(specification, population(), tmp_path / "one.csv", sign=key)
    with pytest.raises(ParameterError, match="signed too"):
        release(specification, population(), tmp_path / "one.json")
    release(specification, population(), tmp_path / "one.json", sign=key)
    assert verify(tmp_path / "one.json", key=mark).signer_trusted


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_what_an_earlier_version_stored_is_given_in_every_format(tmp_path: Path, ending: str) -> None:
    """Six columns, and no raw measurements: `0.1.0` before tidy tables."""
    specification = read_specification(document())
    release(specification, population(), tmp_path / f"new{ending}")
    (entry,) = store_folder().glob("*.json")
    stored = json.loads(entry.read_text())
    row = {"name": "n[yes]", "what": "statistic", "value": 600.0, "lower_95": 590.0, "upper_95": 610.0}
    row["expected_absolute_error"] = 5.1
    content = json.dumps({"release": "costs", "guarantee": "", "plan": "", "values": [row]}, indent=2) + "\n"
    if ending == ".csv":
        content = f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"
    certificate = json.loads(stored["certificate"])
    certificate["digest"]["value"] = hashlib.sha256(content.encode()).hexdigest()
    older = {"certificate": json.dumps(certificate), "content": content, "ending": ending}
    entry.write_text(json.dumps(older))
    for wanted in ENDINGS:
        path = tmp_path / f"old{wanted}"
        again = release(specification, population(), path)
        assert again.again
        assert again.values == [row]
        assert verify(path).certificate.plan == certificate["plan"]
    assert (tmp_path / f"old{ending}").read_text() == content
    with pytest.raises(OutputError, match="were not kept"):
        release(specification, population(), tmp_path / f"old{ending}", raw=tmp_path / "raw.json")


@pytest.mark.parametrize("first_paid", [False, True])
def test_with_a_ledger_and_without_one_the_same_draw_is_published(tmp_path: Path, first_paid: bool) -> None:
    """Otherwise two draws would be out, and at most one of them paid for."""
    specification, ledger = read_specification(document()), tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    found = [
        release(specification, population(), tmp_path / f"{paid}.csv", ledger=ledger if paid else None)
        for paid in (first_paid, not first_paid)
    ]
    assert found[0].content == found[1].content
    with Ledger.open(ledger) as book:
        assert [entry.purpose.loss.epsilon for entry in book.book().releases("people")] == [2]


def test_a_ledger_needs_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file in the way", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "10")
    made = release(
        read_specification(document()), population(), tmp_path / "a.csv", ledger=tmp_path / "ledger.sqlite"
    )
    assert made.path.exists()


def test_what_is_kept_is_the_owners_alone_and_no_data(tmp_path: Path) -> None:
    table = population()
    rare = "west-of-nowhere"
    table = table.set_column(0, "region", pa.array([rare] * table.num_rows))
    release(read_specification(document()), table, tmp_path / "one.csv")
    (entry,) = store_folder().glob("*.json")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(store_folder().stat().st_mode) == 0o700
    assert rare not in entry.read_text()
    [mark] = store_folder().glob("*.drawn")
    assert {path.name for path in store_folder().iterdir()} == {entry.name, mark.name}
    assert (mark.stat().st_size, stat.S_IMODE(mark.stat().st_mode)) == (0, 0o600)


def test_a_crash_after_the_draw_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specification = read_specification(document())

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_published", crash)
        with pytest.raises(KeyboardInterrupt):
            release(specification, population(), tmp_path / "one.csv")
    assert not list(tmp_path.glob("one.csv*"))
    (entry,) = store_folder().glob("*.json")
    found = release(specification, population(), tmp_path / "one.csv")
    assert found.again
    assert found.content.decode() == json.loads(entry.read_text())["content"]


def test_a_crash_between_certificate_and_data_is_finished(tmp_path: Path) -> None:
    specification = read_specification(document())
    first = release(specification, population(), tmp_path / "one.csv")
    (tmp_path / "one.csv").unlink()  # as if the process had died after the first of two renames
    again = release(specification, population(), tmp_path / "one.csv")
    assert again.again
    assert (tmp_path / "one.csv").read_bytes() == first.content


def test_a_damaged_entry_is_refused_and_not_drawn_over(tmp_path: Path) -> None:
    specification = read_specification(document())
    release(specification, population(), tmp_path / "one.csv")
    (entry,) = store_folder().glob("*.json")
    for damage in ("", "[]", '{"ending": ".csv"}', '{"certificate": "{}", "content": "", "ending": ".csv"}'):
        entry.write_text(damage)
        with pytest.raises((OutputError, ParameterError), match="cannot be read"):
            release(specification, population(), tmp_path / "two.csv")
        assert not (tmp_path / "two.csv").exists()


def test_a_store_that_cannot_be_written_is_said_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(OutputError, match="XDG_STATE_HOME"):
        release(read_specification(document()), population(), tmp_path / "one.csv")
    assert not (tmp_path / "one.csv").exists()


def _ask(number: int, folder: str, results: multiprocessing.Queue[bytes]) -> None:
    specification = read_specification(document())
    results.put(release(specification, population(), Path(folder) / f"{number}.csv").content)


def test_two_processes_draw_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=_ask, args=(n, str(tmp_path), results)) for n in range(2)]
    for worker in workers:
        worker.start()
    contents = {results.get(timeout=400) for _ in workers}
    for worker in workers:
        worker.join(timeout=400)
    assert len(contents) == 1
    assert len(list(store_folder().glob("*.json"))) == 1
    assert os.environ["XDG_STATE_HOME"] in str(store_folder())


def test_a_release_of_an_earlier_version_says_whose_status_it_has(tmp_path: Path) -> None:
    specification = read_specification(document())
    first = release(specification, population(), tmp_path / "out.csv")
    assert not first.outdated
    assert not release(specification, population(), tmp_path / "out.csv").outdated
    older = json.loads(first.certificate_path.read_text())
    older["tool"], older["guarantee"]["status"] = "coterie 0.0.9", "bounded"
    first.certificate_path.write_text(json.dumps(older))
    again = release(specification, population(), tmp_path / "out.csv")
    assert again.again
    assert "drawn by coterie 0.0.9, and its status 'bounded' is that version's" in again.outdated
    assert f"today's version says '{first.certificate.guarantee.status}'" in again.outdated
