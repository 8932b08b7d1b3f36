"""Azure's Python SDK in its asynchronous form, with many requests in flight."""

import asyncio
import os

from azure.core.exceptions import ResourceModifiedError
from azure.core import MatchConditions
from azure.storage.blob.aio import BlobServiceClient

MIB = 1 << 20


def run(server, work):
    """Runs `work` with a client and a container of its own."""

    async def within():
        async with BlobServiceClient.from_connection_string(server.connection_string) as service:
            container = await service.create_container(f"async-{os.urandom(8).hex()}")
            try:
                return await work(container)
            finally:
                await container.delete_container()

    return asyncio.run(within())


def test_many_blobs_at_once(server):
    async def work(container):
        names = [f"blob-{n:03}" for n in range(200)]
        await asyncio.gather(*(container.upload_blob(name, name.encode()) for name in names))
        assert [item.name async for item in container.list_blobs(results_per_page=50)] == names

        async def content(name):
            return await (await container.get_blob_client(name).download_blob()).readall()

        assert await asyncio.gather(*map(content, names)) == [name.encode() for name in names]
        await asyncio.gather(*(container.delete_blob(name) for name in names))
        assert [item async for item in container.list_blobs()] == []

    run(server, work)


def test_a_large_blob_both_ways(server):
    async def work(container):
        content = os.urandom(MIB) * 70
        blob = await container.upload_blob("large", content, max_concurrency=6)
        assert await (await blob.download_blob(max_concurrency=6)).readall() == content
        parts = [part async for part in (await blob.download_blob(offset=3, length=40 * MIB)).chunks()]
        assert b"".join(parts) == content[3 : 3 + 40 * MIB]

    run(server, work)


def test_of_many_writers_with_one_etag_exactly_one_wins(server):
    async def work(container):
        blob = await container.upload_blob("blob", b"0")
        for _ in range(10):
            etag = (await blob.get_blob_properties()).etag

            async def write(writer):
                try:
                    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
                    await blob.upload_blob(str(writer), overwrite=True, **condition)
                    return writer
                except ResourceModifiedError:
                    return None

            winners = [winner for winner in await asyncio.gather(*map(write, range(8))) if winner is not None]
            assert len(winners) == 1
            assert await (await blob.download_blob()).readall() == str(winners[0]).encode()

    run(server, work)


def test_leases_are_exclusive(server):
    async def work(container):
        blob = await container.upload_blob("blob", b"0")
        tries = await asyncio.gather(*(blob.acquire_lease(lease_duration=15) for _ in range(8)), return_exceptions=True)
        held = [lease for lease in tries if not isinstance(lease, Exception)]
        assert len(held) == 1
        await held[0].release()

    run(server, work)
