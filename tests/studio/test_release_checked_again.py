"""A released table behind a password can be checked again from the page; the password is kept nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from test_release_once import confirmed, ended, planned

from coterie.errors import OutputError
from coterie.publication.ledger import without_credentials
from coterie.table.address import Address
from coterie.table.database import connected, execute
from release_world import World


def said(page: Any) -> str:
    assert page.status_code in (200, 400), page.text
    return str(page.text)


@pytest.mark.database
def test_with_its_password_the_table_is_verified(world: World, postgres_url: str) -> None:
    client, project, folder = world
    target = {"kind": "database", "address": postgres_url, "table": "checked_again"}
    confirmed(client, project, planned(client, project, folder, **target))
    page, place = said(ended(client, project)), f"/p/{project.id}/release/1"
    password = postgres_url.split(":")[2].split("@")[0]
    assert "Verified" not in page, "the address without its password opens nothing"
    assert 'id="check-again"' in page
    assert without_credentials(postgres_url) in page
    assert "Verified: these bytes" in said(client.post(place, data={"address": postgres_url}))
    wrong = said(client.post(place, data={"address": postgres_url.replace(password, "a-guess")}))
    assert "Verified" not in wrong
    assert 'id="check-again"' in wrong
    other = said(client.post(place, data={"address": "postgresql://me:a-guess@elsewhere/x"}))
    assert "not the database of the release" in other
    assert 'id="check-again"' in other
    assert "a-guess" not in wrong + other
    address = Address.parse(postgres_url)
    with connected(address, OutputError) as connection:
        execute(connection, "DELETE FROM checked_again")
        connection.commit()
    changed = said(client.post(place, data={"address": postgres_url}))
    assert "were changed since they were certified" in changed
    assert 'id="check-again"' not in changed
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert password.encode() not in path.read_bytes(), path
    assert password not in page + changed


def test_a_file_takes_no_address(world: World) -> None:
    client, project, folder = world
    confirmed(client, project, planned(client, project, folder))
    assert 'id="check-again"' not in said(ended(client, project))
    answer = said(client.post(f"/p/{project.id}/release/1", data={"address": str(folder / "out.csv")}))
    assert "not the database of the release" in answer
    assert client.post(f"/p/{project.id}/release/2", data={"address": "x"}).status_code == 404


@pytest.mark.database
def test_a_dossier_of_a_table_behind_a_password(world: World, postgres_url: str) -> None:
    client, project, folder = world
    target = {"kind": "database", "address": postgres_url, "table": "signed_for"}
    confirmed(client, project, planned(client, project, folder, **target))
    ended(client, project)
    place, password = f"/p/{project.id}/release/1", postgres_url.split(":")[2].split("@")[0]
    page = said(client.post(place, data={"address": postgres_url}))
    assert f'formaction="{place}/dossier/internal.pdf"' in page
    for kind, begins in (("pdf", b"%PDF-"), ("html", b"<!doctype html>")):
        made = client.post(
            f"{place}/dossier/public.{kind}", data={"address": postgres_url, "title": "Members"}
        )
        assert made.content[:15].lower().startswith(begins.lower())
        assert password.encode() not in made.content
    elsewhere = client.post(
        f"{place}/dossier/public.html", data={"address": "postgresql://me:a-guess@elsewhere/x"}
    )
    assert "not the database of the release" in said(elsewhere)
    assert "a-guess" not in elsewhere.text
