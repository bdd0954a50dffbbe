"""Run by test_openapi_contract.py inside a network namespace: a server, and schemathesis against it.

The URLs that schemathesis makes up may name anybody's host. In here there is no way to them: the only interface is
the loopback, so neither a request nor a question for a name can leave.
"""

import fcntl
import socket
import struct
import subprocess
import sys
from pathlib import Path

from served import Emissary

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 0x1
_KEY = "em_live_for_schemathesis_only"
# Whether a text is a URL or a selector, no JSON Schema can say, so not all that fits the schema is accepted.
# DELETE ends a job and does not remove it: its record can still be seen.
# A webhook is removed for good, and the answer that made it is given again under its Idempotency-Key all the same: what
# "was just created" may be gone by then. This holds for webhooks alone.
_CONFIG = """
[checks]
positive_data_acceptance.enabled = false
use_after_free.enabled = false

[[operations]]
include-path-regex = "^/v1/webhooks"
checks.ensure_resource_availability.enabled = false
"""


def raise_loopback() -> None:
    """Bring the loopback up, and make sure that there is no other way out."""
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        raise SystemExit(f"not sealed: there is {', '.join(others)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def main(folder: Path, examples: str) -> int:
    raise_loopback()
    settings = {
        "EMISSARY_HOST_GAP": "0",
        "EMISSARY_API_KEY": _KEY,
        "EMISSARY_AGENT_URL": "https://agent.example/",
        "EMISSARY_EVENTS_SECONDS": "0.2",  # schemathesis reads a stream to its end, and a batch may be paused for good
    }
    config = folder / "schemathesis.toml"
    config.write_text(_CONFIG)
    with Emissary(folder, settings) as server:
        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                *("--config-file", str(config)),
                *("run", f"{server.url}/openapi.json"),
                *(
                    "--max-examples",
                    examples,
                    "--seed",
                    "7733",
                    "--warnings",
                    "off",
                    "--no-color",
                    "--generation-database",
                    "none",
                ),
                *("--report", "ndjson", "--report-ndjson-path", str(folder / "report.ndjson")),
                *("--header", f"Authorization: Bearer {_KEY}", "--request-timeout", "40"),
            ],
            cwd=folder,
            env={"HOME": str(folder), "LANG": "C.UTF-8", "COLUMNS": "120"},
            check=False,
        )
        return server.stop() or done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
