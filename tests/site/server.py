"""The built site, as a host with compression serves it, on this machine alone."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_COMPRESSED = (".html", ".css", ".js", ".svg", ".json", ".xml", ".txt")


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection serves several requests

    def log_message(self, *_: object) -> None:
        pass

    def end_headers(self) -> None:
        # Without it a browser guesses from the age of a file, and asks again
        # for what was built a moment ago.
        self.send_header("Cache-Control", "max-age=1200")
        super().end_headers()

    def send_head(self) -> BinaryIO | None:
        path = Path(self.translate_path(self.path))
        if path.suffix not in _COMPRESSED or not path.is_file():
            return super().send_head()
        modified = self.date_time_string(int(path.stat().st_mtime))
        if self.headers.get("If-Modified-Since") == modified:
            self.send_response(304)
            self.end_headers()
            return None
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", modified)
        self.end_headers()
        return io.BytesIO(body)


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """Serve a folder while the block runs; the address ends in a slash."""
    handler = functools.partial(_Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
