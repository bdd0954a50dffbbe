"""The way to the object store: URLs that lead there, and those that do not."""

import asyncio
from collections.abc import Iterator

import pytest

from emissary.backends.cluster import objects
from emissary.backends.cluster.blobs import S3Blobs
from emissary.backends.cluster.objects import open_objects
from emissary.model.errors import SettingsError, StoreUnavailable
from emissary.testing.servers import ObjectServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def own_server() -> Iterator[ObjectServer]:
    with ObjectServer() as server:
        yield server


async def test_folders_of_one_bucket_are_stores_of_their_own(object_server: ObjectServer) -> None:
    one, two = [S3Blobs(await open_objects(object_server.url_of(folder))) for folder in ("one", "two/deep")]
    await one.put("results/a", b"one")
    await two.put("results/a", b"two")
    assert (await one.get("results/a"), await two.get("results/a")) == (b"one", b"two")
    await one.delete("results/a")
    assert (await one.names(""), await two.names("")) == ([], ["results/a"])


async def test_names_are_all_told_however_many_there_are(objects_url: str) -> None:
    blobs = S3Blobs(await open_objects(objects_url))
    wanted = [f"results/{number:04}" for number in range(1050)]
    gate = asyncio.Semaphore(20)

    async def put(name: str) -> None:
        async with gate:
            await blobs.put(name, b"")

    await asyncio.gather(*(put(name) for name in wanted))
    assert await blobs.names("results/") == wanted


@pytest.mark.parametrize("name", ["", ".", "..", "/etc/passwd", "../x", "a/../b", "a/..", ".hidden", "a/.b", "a\0b"])
async def test_a_name_that_leads_elsewhere_is_refused(name: str, objects_url: str) -> None:
    blobs = S3Blobs(await open_objects(objects_url))
    with pytest.raises(ValueError, match="not a name"):
        await blobs.put(name, b"body")
    with pytest.raises(ValueError, match="not a name"):
        await blobs.get(name)
    with pytest.raises(ValueError, match="not a name"):
        await blobs.delete(name)


# Credentials


async def test_credentials_may_come_from_the_environment(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", object_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", object_server.secret)
    blobs = S3Blobs(await open_objects(without_credentials(object_server, "env")))
    await blobs.put("a", b"body")
    assert await blobs.get("a") == b"body"


async def test_credentials_of_the_url_win_over_those_of_the_environment(
    objects_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "another's")
    assert await S3Blobs(await open_objects(objects_url)).names("") == []


async def test_where_there_are_no_credentials_that_is_said(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")  # where a machine of Amazon's would ask
    with pytest.raises(StoreUnavailable, match="there are no credentials: give them in EMISSARY_OBJECTS_URL"):
        await open_objects(without_credentials(object_server, "x"), patience=2)


async def test_wrong_credentials_are_said_and_not_shown(object_server: ObjectServer) -> None:
    url = f"s3://{object_server.key}:s3cret@emissary/x?endpoint={object_server.endpoint}"
    with pytest.raises(StoreUnavailable, match=r"SignatureDoesNotMatch .*; check the credentials") as caught:
        await open_objects(url)
    assert "s3cret" not in caught.value.detail
    assert "Debug source" not in caught.value.detail


def without_credentials(server: ObjectServer, folder: str) -> str:
    return f"s3://emissary/{folder}?endpoint={server.endpoint}"


# URLs that lead nowhere


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("s3://", "it names no bucket"),
        ("s3://key:s3cret@", "it names no bucket"),
        ("https://key:s3cret@bucket/x", "it names no bucket"),
        ("s3://key:s3cret@bucket?endpont=http://127.0.0.1:1", "there is no option 'endpont'"),
        ("s3://key:s3cret@bucket?endpoint=127.0.0.1:1", "its endpoint is no http or https address"),
        ("s3://key:s3cret@bucket?endpoint=ftp://127.0.0.1", "its endpoint is no http or https address"),
        ("s3://key:s3cret@bucket?endpoint=http://127.0.0.1:99999", "Port out of range"),
        ("s3://:s3cret@bucket", "its key has no secret"),
        ("s3://key:@bucket", "its key has no secret"),
    ],
)
async def test_a_url_that_cannot_be_read_is_a_setting_that_cannot_work(url: str, what: str) -> None:
    with pytest.raises(SettingsError, match=f"EMISSARY_OBJECTS_URL: {what}.*; write s3://") as caught:
        await open_objects(url)
    assert "s3cret" not in caught.value.detail


async def test_a_store_that_is_not_there_is_said() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9/.*; check that the store runs"):
        await open_objects("s3://key:secret@bucket?endpoint=http://127.0.0.1:9", patience=2)


async def test_a_bucket_that_is_not_there_is_a_failure_and_no_missing_object(object_server: ObjectServer) -> None:
    url = object_server.url.replace("@emissary/", "@no-such-bucket/")
    with pytest.raises(StoreUnavailable, match=r"NoSuchBucket .*; create the bucket"):
        await open_objects(url)
    gone = S3Blobs(objects._store(url, 5))  # as it is after somebody has deleted the bucket
    with pytest.raises(StoreUnavailable, match=r"NoSuchBucket .*; create the bucket"):
        await gone.get("results/a")


# A server that goes away


async def test_a_server_that_went_away_is_found_again_with_what_it_had(own_server: ObjectServer) -> None:
    blobs = S3Blobs(await open_objects(own_server.url, patience=2))
    await blobs.put("results/a", b"body")
    own_server.kill()
    for ask in (blobs.get("results/a"), blobs.put("results/b", b""), blobs.names(""), blobs.delete("results/a")):
        with pytest.raises(StoreUnavailable, match="check that the store runs"):
            await ask
    own_server.start()
    assert await blobs.get("results/a") == b"body"


async def test_a_server_that_does_not_answer_is_not_waited_for(own_server: ObjectServer) -> None:
    blobs = S3Blobs(await open_objects(own_server.url, patience=1))
    own_server.pause()
    async with asyncio.timeout(30):
        for ask in (blobs.get("results/a"), blobs.put("results/a", b"body")):
            with pytest.raises(StoreUnavailable):
                await ask
    own_server.resume()
    await blobs.put("results/b", b"body")
    assert await blobs.get("results/b") == b"body"
