"""The connection to the aggregator: outward only, pinned TLS, every request signed, every answer's signature checked."""

from __future__ import annotations

import json
import secrets
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import httpx

from coterie.federation.documents import wire
from coterie.federation.documents.messages import NewKeys, Succession
from coterie.federation.documents.signed import Signed, canonical, parsed, sha256, validated
from coterie.federation.errors import (
    Conflict,
    FederationError,
    InvitationSpent,
    NotAccepted,
    ProtocolMismatch,
    Unreachable,
    Untrusted,
)
from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.keys import (
    Keys,
    next_keys,
    use_next_keys,
    verify,
)
from coterie.federation.secrets.tls import authority_context, pinned_context, show_certificate

_LARGEST_ANSWER = 64 * 1024 * 1024  # what is wanted of an owner, with all studies and their rosters
_PATIENCE = httpx.Timeout(20.0, read=60.0)


class ClockOff(NotAccepted):
    """This clock and the aggregator's differ by more than two minutes: it may be set at any time."""


class Suspended(NotAccepted):
    """The aggregator's administrator has suspended this owner, until further notice."""


class _NewKey(Unreachable):
    """What was sent was for a key of the aggregator that another has followed."""


class AnswerFault(FederationError):
    """The aggregator understood, and said no: `status` and the parts of its answer."""

    def __init__(self, status: int, content: dict[str, Any]) -> None:
        super().__init__(str(content.get("problem", "")), str(content.get("advice", "")))
        self.status = status
        self.content = content


class Client(AbstractContextManager["Client", None]):
    """One owner's connection to one aggregator. `session` names the running process; without it one can only read.

    `shown` is this owner's own TLS certificate, for aggregators that demand one. `succeeded` is called with the
    keys that followed the pinned one, each signed with the one before.
    """

    def __init__(
        self,
        url: str,
        aggregator: str,
        tls: str,
        keys: Keys,
        *,
        session: str = "",
        replaces: str = "",
        ca_bundle: Path | None = None,
        shown: Path | None = None,
        succeeded: Callable[[Sequence[str]], None] = lambda keys: None,
    ) -> None:
        self._url, self._ca_bundle, self._shown = url, ca_bundle, shown
        self._http = self._connected(tls)
        self._aggregator, self._succeeded = aggregator, succeeded
        self._keys = keys
        self.session = session
        self._replaces = replaces

    @classmethod
    def of(
        cls, home: OwnerHome, ca_bundle: Path | None = None, session: str = "", replaces: str = ""
    ) -> Client:
        """A client that speaks as the owner of this folder."""
        return cls(
            home.url,
            home.aggregators[0],
            home.trusted_tls(),
            home.keys,
            session=session,
            replaces=replaces,
            ca_bundle=ca_bundle,
            shown=home.tls_client,
            succeeded=home.succeed,
        )

    def get(self, target: str, *, patience: float = 60.0, diary: str = "", seen: str = "") -> Any:
        extra = {name: value for name, value in ((wire.DIARY, diary), (wire.SEEN, seen)) if value}
        return self.send("GET", target, b"", patience=patience, extra=extra)

    def post(self, target: str, content: Any = None) -> Any:
        return self.send("POST", target, b"" if content is None else canonical(content))

    def put(self, target: str, body: bytes, kind: str = "application/json", *, diary: str = "") -> Any:
        return self.send("PUT", target, body, kind=kind, extra={wire.DIARY: diary} if diary else {})

    def send(
        self,
        method: str,
        target: str,
        body: bytes,
        *,
        kind: str = "application/json",
        patience: float = 60.0,
        extra: Mapping[str, str] = MappingProxyType({}),
    ) -> Any:
        for last in (False, True):
            headers = {**self.signed_headers(method, target, body), **extra}
            if body:
                headers["Content-Type"] = kind
            timeout = httpx.Timeout(20.0, read=patience)
            status, content, answered = self._exchanged(method, target, body, headers, timeout)
            try:
                return self._opened(status, content, answered, headers[wire.NONCE])
            except _NewKey:  # what we sent was for the old one
                if last:
                    raise
        raise AssertionError

    def _exchanged(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str], timeout: httpx.Timeout
    ) -> tuple[int, bytes, httpx.Headers]:
        """One request and its answer, which may not be longer than any that we know."""
        with (
            _transport_errors(),
            self._http.stream(method, target, content=body, headers=headers, timeout=timeout) as response,
        ):
            parts, size = [], 0
            for part in response.iter_raw(1 << 16):
                size += len(part)
                if size > _LARGEST_ANSWER:
                    raise Unreachable("The answer is too long.", "Ask the aggregator's administrator.")
                parts.append(part)
        return response.status_code, b"".join(parts), response.headers

    def _follows(self, status: int, body: bytes, nonce: str, signature: str) -> bool:
        """Whether this answer is signed by a key that follows the pinned one: signed by it, or by one that follows it."""
        _, told, _ = self._exchanged("GET", "/v1/protocol", b"", {}, _PATIENCE)
        chain, content = [self._aggregator], parsed(told)
        for entry in content.get("successions", ()) if isinstance(content, dict) else ():
            signed = validated(Signed, entry)
            if signed.key == chain[-1]:
                said = signed.opened(Succession, key=signed.key)
                chain += [said.new] if said.old == signed.key else []
        answered = wire.response_text(status, body, nonce)
        if len(chain) == 1 or not verify(chain[-1], "response", answered, signature):
            return False
        self._aggregator = chain[-1]
        self._succeeded(chain[1:])
        return True

    def signed_headers(self, method: str, target: str, body: bytes) -> dict[str, str]:
        nonce, time = secrets.token_urlsafe(24), wire.stamp(wire.now())
        digest = sha256(body)
        text = wire.request_text(method, target, digest, nonce, time, self.session, self._aggregator)
        headers = {
            wire.PROTOCOL: f"{wire.PROTOCOL_MINIMUM}-{wire.PROTOCOL_MAXIMUM}",
            wire.KEY: self._keys.public,
            wire.TIME: time,
            wire.NONCE: nonce,
            wire.BODY: digest,
            wire.SIGNATURE: self._keys.sign("request", text),
        }
        if self.session:
            headers |= {wire.SESSION: self.session, wire.REPLACES: self._replaces}
        return headers

    @contextmanager
    def download(self, target: str) -> Iterator[Iterator[bytes]]:
        """A body of any length. Not signed: the caller compares its hash with one that was."""
        headers = self.signed_headers("GET", target, b"")
        with _transport_errors(), self._http.stream("GET", target, headers=headers) as response:
            if response.status_code != 200:
                response.read()
                self._opened(response.status_code, response.content, response.headers, headers[wire.NONCE])
            yield response.iter_raw(1 << 20)  # as sent: nothing is unpacked that could grow without end

    def _opened(self, status: int, body: bytes, headers: httpx.Headers, nonce: str) -> Any:
        signature = headers.get(wire.SIGNATURE, "")
        if not verify(self._aggregator, "response", wire.response_text(status, body, nonce), signature):
            if status >= 500:  # a proxy's error page: nobody's word
                raise Unreachable(f"The aggregator does not answer (status {status}).", "Try again later.")
            if self._follows(status, body, nonce, signature):
                raise _NewKey("The aggregator has a new key, signed by the pinned one.", "It is tried again.")
            raise Untrusted(
                "The answer is not signed by the aggregator that this owner pinned.",
                "Somebody is in between, or the aggregator was set up anew: ask its administrator.",
            )
        content = parsed(body)
        if status != 200:
            _raise(status, content if isinstance(content, dict) else {})
        return content

    def _connected(self, tls: str) -> httpx.Client:
        context = authority_context(self._ca_bundle) if self._ca_bundle else pinned_context(tls)
        if self._shown is not None:
            show_certificate(context, self._shown)
        # trust_env: HTTPS_PROXY is honoured; through a proxy the TLS pin still reaches to the aggregator.
        plain = {"Accept-Encoding": "identity"}
        return httpx.Client(
            base_url=self._url, verify=context, timeout=_PATIENCE, trust_env=True, headers=plain
        )

    def trust(self, tls: str) -> None:
        """Trust these certificates (PEM, one or two) from now on, and no others."""
        before, self._http = self._http, self._connected(tls)
        before.close()

    def close(self) -> None:
        self._http.close()

    def __exit__(self, *fault: object) -> None:
        self.close()


def _raise(status: int, content: dict[str, Any]) -> NoReturn:
    problem, advice = str(content.get("problem", "")), str(content.get("advice", ""))
    if status >= 500 or status in (408, 429):
        raise Unreachable(
            problem or f"The aggregator failed (status {status}).", advice or "Try again later."
        )
    if status == 426:
        raise ProtocolMismatch(
            f"There is no common protocol version (ours: {wire.PROTOCOL_MINIMUM}-{wire.PROTOCOL_MAXIMUM}, "
            f"the aggregator's: {content.get('ours')}).",
            "Install the Coterie version that the aggregator's administrator names.",
        )
    if status == 401 and content.get("error") == "clock":
        raise ClockOff(
            f"This clock says {content.get('yours')}, the aggregator's {content.get('ours')}.",
            "They may differ by two minutes: set the clock (NTP), then try again.",
        )
    if status == 403 and content.get("error") == "suspended":
        raise Suspended(problem, advice)
    if status == 401:
        raise NotAccepted(
            "The aggregator does not accept this owner's requests.",
            "Perhaps the owner has left, or the folder belongs to another aggregator: ask for a new invitation.",
        )
    if status == 410:
        raise InvitationSpent(problem, advice)
    if status == 409 and content.get("error") == "active elsewhere":
        raise Conflict(problem, advice)
    raise AnswerFault(status, content)


@contextmanager
def _transport_errors() -> Iterator[None]:
    """The errors of httpx: no trust (stop) or no connection (try again)."""
    try:
        yield
    except httpx.TransportError as error:
        if _is_trust(error):
            raise Untrusted(
                "The TLS certificate of the aggregator is not the pinned one.",
                "Do not go on: ask its administrator. Behind an inspecting proxy, give --ca-bundle.",
            ) from None
        if isinstance(error, httpx.RemoteProtocolError):
            # Also what a caller sees of a server that does not accept its certificate (TLS 1.3 tells it too late).
            raise Unreachable(
                "The aggregator closed the connection without an answer.",
                "Nothing is lost, it is tried again. If it demands a TLS certificate of its owners, it may not "
                "accept this one's: see `coterie owner join --client-certificate`.",
            ) from None
        raise Unreachable(
            f"The aggregator cannot be reached ({type(error).__name__}).",
            "Check the network, the address and HTTPS_PROXY; nothing is lost, it is tried again.",
        ) from None
    except json.JSONDecodeError:
        raise Unreachable("The answer cannot be read.", "Try again later.") from None


def _is_trust(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        if isinstance(error, ssl.SSLError) and not isinstance(
            error, ssl.SSLEOFError | ssl.SSLZeroReturnError
        ):
            return True
        text = str(error)
        if "CERTIFICATE_VERIFY_FAILED" in text or "WRONG_VERSION_NUMBER" in text:
            return True
        error = error.__cause__ or error.__context__
    return False


# New keys for an owner: made here, sent to the aggregator under the old ones, and put in their place.


def rotate_keys(home: OwnerHome, connect: Callable[[Keys], Client]) -> Keys:
    """Can be repeated after a kill at any point. `connect` speaks to the aggregator with these keys."""
    old, new = home.keys, next_keys(home.folder)
    said = NewKeys(old=old.public, new=new.public, sealing_key=new.sealing_public)
    try:
        with connect(old) as client:
            client.post("/v1/keys", Signed.of(said, new).content())
    except (ClockOff, Suspended):
        raise
    except NotAccepted:
        # Perhaps the answer to an earlier attempt was lost: then the new ones are accepted already.
        with connect(new) as client:
            client.get("/v1/desired?after=&wait=0")
    keys = use_next_keys(home.folder, old)
    home.journal.note("new keys", key=keys.public)
    return keys
