"""A service that speaks S3 on this machine (moto), and that can be made to fail or to call back at a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

BUCKET = "bucket"
Answer = Callable[[dict[str, Any]], int | None]


class S3Service:
    """`on_request` sees every request first; a status from it is the answer, None lets the request through."""

    def __init__(self) -> None:
        import boto3
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log(self, type: str, message: str, *args: object) -> None:
                pass

        self.on_request: Answer = lambda environ: None
        self._application = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
        )
        self.client.create_bucket(Bucket=BUCKET)

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status = self.on_request(environ)
        if status is None:
            return self._application(environ, start)  # type: ignore[no-any-return]
        start(f"{status} Refused", [("Content-Length", "0")])
        return [b""]

    def objects(self, prefix: str = "") -> dict[str, str]:
        """Names and marks of content of all objects, whatever a reader of Parquet would pass over."""
        found = self.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return {each["Key"]: each["ETag"] for each in found}

    def stop(self) -> None:
        self._server.shutdown()


def is_copy(environ: dict[str, Any], prefix: str) -> bool:
    """Hadoop's «rename» in an object store is this request, then a deletion."""
    return "HTTP_X_AMZ_COPY_SOURCE" in environ and environ["PATH_INFO"].startswith(f"/{BUCKET}/{prefix}")
