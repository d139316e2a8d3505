"""make demo-federation: an aggregator and three owners as real processes, and four studies.

One of synthetic rows with a proof; one of different people; one of the same people, by pseudonyms; one by blinded ids.

Everything is done by the commands that an administrator would type. Where the system allows it (root, iproute2), each
party also lives in a network namespace of its own, and nobody listens in the owners' ones.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from coterie.table.demo_population import demo_population, demo_schema

OWNERS = ("hospital-a", "hospital-b", "hospital-c")
HOLDS = {
    "hospital-a": ["age", "schooling", "hours"],
    "hospital-b": ["income", "tax"],
    "hospital-c": ["rent", "commute"],
}
BRIDGE = "10.213.77."
WANTED = ["age", "income", "rent"]
STUDIES: dict[str, dict[str, Any]] = {
    "synthetic": {
        "told": "A study with a proof: each hospital sends synthetic rows of its own people, and they are put together.",
        "title": "synthetic age, income and rent",
        "fragmentation": "horizontal",
        "method": "dp-synthetic",
        "owners": [*OWNERS],
    },
    "horizontal": {
        "told": "The same by a published method that has no proof: the certificate says so.",
        "title": "age, income and rent",
        "fragmentation": "horizontal",
        "owners": [*OWNERS],
    },
    "vertical": {
        "told": "A vertical study: the same people, each hospital other attributes, joined by pseudonyms.",
        "title": "one table from three",
        "fragmentation": "vertical",
        "owners": HOLDS,
        "identifier": "person",
        "lead": "hospital-a",
    },
    "blinded-ids": {
        "told": "Two of them alone, joined by blinded ids: they find their common people, and send only those.",
        "title": "one table from two",
        "fragmentation": "vertical",
        "join": "blinded ids",
        "owners": {name: HOLDS[name] for name in OWNERS[:2]},
        "identifier": "person",
    },
}


class Party:
    """A place to run commands in: this machine, or a network namespace."""

    def __init__(self, namespace: str | None) -> None:
        self.prefix = ["ip", "netns", "exec", namespace] if namespace else []

    def command(self, *words: str) -> list[str]:
        return [*self.prefix, sys.executable, "-c", "from coterie.cli import main; main()", *words]

    def run(self, *words: str, again: int | None = None) -> Any:
        """The answer of a command; None if it ended with the code `again`: it can be repeated."""
        done = subprocess.run(
            self.command(*words, "--json"), capture_output=True, text=True, env=_environment(), check=False
        )
        if done.returncode == again:
            return None
        if done.returncode:
            raise SystemExit(f"coterie {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def start(self, log: Path, *words: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as sink:
            return subprocess.Popen(self.command(*words), stdout=sink, stderr=sink, env=_environment())


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "140"}


FINGERPRINTS: dict[str, str] = {}  # what the owners tell each other by telephone


def demo(folder: Path, address: str, aggregator: Party, owners: dict[str, Party]) -> None:
    place, url = folder / "aggregator", f"https://{address}"
    say("The aggregator makes its keys and its TLS certificate.")
    print(f"  key {aggregator.run('aggregator', 'init', str(place), '--url', url)['key']}")
    with ExitStack() as running:
        host = address.split(":")[0]
        server = aggregator.start(
            folder / "aggregator.log", "aggregator", "serve", str(place), "--host", host
        )
        running.callback(_end, server)
        people = demo_population(1_500)
        for number, (name, party) in enumerate(owners.items()):
            _join(folder, place, aggregator, name, party, people.slice(500 * number, 500), server)
        say("The owners compare their fingerprints, and pin each other's keys.")
        for name, party in owners.items():
            for peer in owners:
                if peer != name:
                    party.run("owner", "trust", peer, FINGERPRINTS[peer], "--home", str(folder / name))
        say("Each owner runs one process that connects outward only.")
        for name, party in owners.items():
            process = party.start(
                folder / f"{name}.log", "owner", "run", "--home", str(folder / name), "--json"
            )
            running.callback(_end, process)
        for kind, study in STUDIES.items():
            if kind == "vertical":
                # The same people everywhere from now on: another population, another table, other attributes.
                for name in owners:
                    pq.write_table(people.select(["person", *HOLDS[name]]), folder / name / "people.parquet")
            _study(folder, place, aggregator, kind, **study)
        for name, party in owners.items():
            _seen_by_owner(folder, name, party)
        _seen_by_aggregator(folder, place)
        if owners[OWNERS[0]].prefix:
            for name, party in owners.items():
                found = subprocess.run(
                    [*party.prefix, "ss", "-Hltn"], capture_output=True, text=True, check=True
                ).stdout
                print(f"  listening sockets in the network of {name}: {len(found.splitlines())}")


def _join(
    folder: Path, place: Path, aggregator: Party, name: str, party: Party, table: Any, server: Any
) -> None:
    say(f"{name} is invited, joins, promises its people a lifetime epsilon of 10, and writes its policy.")
    invitation = folder / f"{name}.invitation"
    key = aggregator.run("aggregator", "invite", str(place), name, "--output", str(invitation))
    assert key["owner"] == name
    joined = None
    while joined is None:  # the aggregator may still be starting
        assert server.poll() is None, (folder / "aggregator.log").read_text()
        joined = party.run("owner", "join", str(invitation), "--home", str(folder / name), again=19)
    FINGERPRINTS[name] = joined["fingerprint"]
    party.run(
        "ledger", "init", str(folder / name / "ledger.sqlite"), "--population", "people", "--lifetime", "10"
    )
    pq.write_table(table, folder / name / "people.parquet")
    policy = {
        "data": str(folder / name / "people.parquet"),
        "population": "people",
        "maximum_epsilon": "2",
        "minimum_k": 5,
        # What the values can be: a study that takes less is refused before the table is opened.
        "attributes": {
            attribute.name: {"lower": attribute.bounds().lower, "upper": attribute.bounds().upper}
            for attribute in demo_schema().protected
        },
        "methods": ["dp-synthetic", "idp-ls", "dp-ir"],
        "aggregators": [joined["aggregator"]],
        "disjoint": True,
        "blinded": True,
    }
    (folder / name / "policy.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))


def _study(folder: Path, place: Path, aggregator: Party, kind: str, told: str, **content: Any) -> None:
    say(told)
    described = demo_schema().to_dict()["attributes"]
    owners = content["owners"]
    wanted = WANTED if isinstance(owners, list) else [name for held in owners.values() for name in held]
    spec = {
        "method": "idp-ls",
        "epsilon": "1",
        "k": 10,
        "deadline": "30 minutes",
        "attributes": {attribute: described[attribute] for attribute in wanted},
        **content,
    }
    path = folder / f"{kind}.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False))
    study = aggregator.run("aggregator", "study", "new", str(place), str(path))["id"]
    print(f"  study {study[:12]} is published; waiting for the owners …", flush=True)
    output = folder / f"{kind}.parquet"
    released = aggregator.run(
        "aggregator", "study", "release", str(place), study, "--output", str(output), "--wait", "600"
    )
    table = pq.read_table(output)
    print(f"  released {table.num_rows} rows × {table.num_columns} attributes to {output}")
    print(f"  promise: {released['status']}. {released['label']}.")
    certificate = json.loads(Path(released["certificate"]).read_text())["document"]
    for learned in certificate["aggregator_learned"]:
        print(f"  the aggregator learned: {learned}")
    for note in certificate["notes"]:
        print(f"  note: {note}")


def _seen_by_owner(folder: Path, name: str, party: Party) -> None:
    book = party.run("owner", "ledger", "--home", str(folder / name))
    [account] = book["populations"]
    own = pq.read_metadata(folder / name / "people.parquet")
    individual = account["individual"]
    say(
        f"What {name} saw: its own {own.num_rows} rows, what it was asked, and the joined releases; nobody else's part."
    )
    print(f"  differential privacy: spent {_short(account['spent'])} of {account['lifetime']}")
    if individual:
        print(
            f"  individual differential privacy: spent {_short(individual['spent'])} of {individual['lifetime']}"
        )
    for release in account["releases"]:
        loss = release["loss"]
        print(
            f"  charged ε {_short(loss['epsilon'])} ({loss['model']}) for {release['method']}: the part is "
            f"{release['status']}; {loss['status']} for {loss['scope']}"
        )
    for path in sorted((folder / name / "studies").glob("*/release.parquet")):
        table = pq.read_metadata(path)
        print(
            f"  its copy of {path.parent.name[:12]}: {table.num_rows} rows × {table.num_columns} attributes"
        )
    for entry in book["diary"]:
        print(f"  {entry['at']}  {entry['event']:10} {entry.get('study', '')[:12]}")
    print(f"  seal of its diary: {book['diary'][-1]['seal'][:16]}…")


def _seen_by_aggregator(folder: Path, place: Path) -> None:
    say("What the aggregator holds now: documents, states and the releases; no part, no pseudonym, no id.")
    for path in sorted(place.rglob("*")):
        if path.is_file():
            print(
                f"  {path.relative_to(place)}  {path.stat().st_size} bytes, mode {path.stat().st_mode & 0o777:o}"
            )
    held = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    found = [text for text in demo_population(1_500).column("person").to_pylist() if text.encode() in held]
    print(f"  ids of people found in its files: {len(found)}")
    assert not found


def namespaces(stack: ExitStack) -> dict[str, Party] | None:
    """One network per party, joined by a bridge in the aggregator's; None where the system does not allow it."""
    names = {"aggregator": "coterie-hub", **{owner: f"coterie-{owner[-1]}" for owner in OWNERS}}

    def ip(words: str) -> None:
        subprocess.run(["ip", *words.split()], check=True, capture_output=True)

    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("ss"):
        return None
    try:
        for name in names.values():
            ip(f"netns add {name}")
            stack.callback(subprocess.run, ["ip", "netns", "del", name], capture_output=True)
            ip(f"-n {name} link set lo up")
        hub = names["aggregator"]
        ip(f"-n {hub} link add br0 type bridge")
        ip(f"-n {hub} addr add {BRIDGE}1/24 dev br0")
        ip(f"-n {hub} link set br0 up")
        for number, owner in enumerate(OWNERS, start=2):
            ip(f"-n {hub} link add to{number} type veth peer name eth0 netns {names[owner]}")
            ip(f"-n {hub} link set to{number} master br0 up")
            ip(f"-n {names[owner]} addr add {BRIDGE}{number}/24 dev eth0")
            ip(f"-n {names[owner]} link set eth0 up")
    except subprocess.CalledProcessError as error:
        print(f"(no network namespaces here: {error.stderr.decode().strip()})")
        return None
    return {party: Party(name) for party, name in names.items()}


def _short(epsilon: str) -> str:
    """For people: 11/3 is 3.67."""
    return f"{float(Fraction(epsilon)):.3g}"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-federation"))
    parser.add_argument("--loopback-only", action="store_true")
    chosen = parser.parse_args()
    shutil.rmtree(chosen.output, ignore_errors=True)
    folder = chosen.output.resolve()
    print("== On loopback ==")
    (folder / "loopback").mkdir(parents=True)
    here = Party(None)
    demo(folder / "loopback", f"127.0.0.1:{_free_port()}", here, dict.fromkeys(OWNERS, here))
    with ExitStack() as stack:
        parties = None if chosen.loopback_only else namespaces(stack)
        if parties is None:
            print("\n(The same in separate network namespaces needs root, ip and ss.)")
            return
        print("\n== In four network namespaces: owners reach the aggregator, nothing reaches the owners ==")
        (folder / "namespaces").mkdir()
        hub = parties.pop("aggregator")
        demo(folder / "namespaces", f"{BRIDGE}1:8443", hub, parties)


if __name__ == "__main__":
    main()
