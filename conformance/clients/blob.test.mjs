// Azure's JavaScript SDK, unmodified: what an application does with containers and block blobs.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";

const require = createRequire(process.env.MODULES + "/");
const storage = require("@azure/storage-blob");
const { BlobServiceClient, ContainerClient, BlobClient, BlockBlobClient, StorageSharedKeyCredential } = storage;

const MiB = 1 << 20;
const options = { retryOptions: { maxTries: 1 } };
const service = BlobServiceClient.fromConnectionString(process.env.CONNECTION_STRING, options);
const key = service.credential;
let container;

const newName = () => `js-${randomUUID()}`;
const soon = (hours = 1) => new Date(Date.now() + hours * 3600_000);
const refused = (work, code, status) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.statusCode, error.code], [status, code]);
    return true;
  });
const all = async (items) => {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
};

before(async () => {
  container = service.getContainerClient(newName());
  await container.create();
});
after(() => container.deleteIfExists());

test("a container lives and dies", async () => {
  const client = service.getContainerClient(newName());
  assert.equal(await client.exists(), false);
  await client.create({ metadata: { colour: "blue" } });
  await refused(client.create(), "ContainerAlreadyExists", 409);
  assert.equal((await client.createIfNotExists()).succeeded, false);
  const properties = await client.getProperties();
  assert.deepEqual(properties.metadata, { colour: "blue" });
  await client.setMetadata({ colour: "green" });
  assert.notEqual((await client.getProperties()).etag, properties.etag);
  const listed = await all(service.listContainers({ prefix: client.containerName, includeMetadata: true }));
  assert.deepEqual(listed.map((item) => [item.name, item.metadata]), [[client.containerName, { colour: "green" }]]);
  await client.delete();
  await refused(client.getProperties(), "ContainerNotFound", 404);
  assert.equal((await client.deleteIfExists()).succeeded, false);
});

test("service properties and account info", async () => {
  const cors = { allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 5 };
  await service.setProperties({ cors: [cors] });
  const properties = await service.getProperties();
  assert.equal(properties.cors[0].allowedOrigins, "*");
  await service.setProperties({ cors: [] });
  assert.ok((await service.getAccountInfo()).skuName);
});

test("a small blob goes up and down with its properties", async () => {
  const blob = container.getBlockBlobClient("small/ümlaut ß.txt");
  const text = "grüße";
  await blob.upload(text, Buffer.byteLength(text), {
    blobHTTPHeaders: { blobContentType: "text/plain", blobCacheControl: "no-cache" },
    metadata: { a: "1" },
  });
  assert.equal((await blob.downloadToBuffer()).toString(), text);
  const properties = await blob.getProperties();
  assert.deepEqual(
    [properties.contentType, properties.cacheControl, properties.contentLength, properties.metadata, properties.blobType],
    ["text/plain", "no-cache", Buffer.byteLength(text), { a: "1" }, "BlockBlob"],
  );
  assert.deepEqual(Buffer.from(properties.contentMD5), createHash("md5").update(text).digest());
  await blob.setHTTPHeaders({ blobContentType: "text/html" });
  await blob.setMetadata({ b: "2" });
  const after = await blob.getProperties();
  assert.deepEqual([after.contentType, after.metadata], ["text/html", { b: "2" }]);
  await blob.delete();
  assert.equal(await blob.exists(), false);
});

test("an empty blob", async () => {
  const blob = container.getBlockBlobClient("empty");
  await blob.upload("", 0);
  assert.equal((await blob.downloadToBuffer()).length, 0);
});

test("ranges", async () => {
  const blob = container.getBlockBlobClient("ranges");
  await blob.upload("0123456789", 10);
  assert.equal((await blob.downloadToBuffer(3, 4)).toString(), "3456");
  assert.equal((await blob.downloadToBuffer(7)).toString(), "789");
  await refused(blob.download(10, 1), "InvalidRange", 416);
});

test("a large buffer in parallel blocks", async () => {
  const content = Buffer.alloc(72 * MiB, randomBytes(MiB + 1));
  const blob = container.getBlockBlobClient("large");
  await blob.uploadData(content, { blockSize: 4 * MiB, maxSingleShotSize: 4 * MiB, concurrency: 8 });
  assert.ok((await blob.downloadToBuffer(0, undefined, { concurrency: 8 })).equals(content));
  assert.equal((await blob.getBlockList("committed")).committedBlocks.length, 18);
});

test("a large single put", async () => {
  const content = Buffer.alloc(70 * MiB, randomBytes(MiB + 1));
  const blob = container.getBlockBlobClient("single");
  await blob.uploadData(content);
  assert.ok((await blob.downloadToBuffer()).equals(content));
});

test("a stream", async () => {
  const part = randomBytes(100_000);
  const blob = container.getBlockBlobClient("stream");
  await blob.uploadStream(Readable.from(Array(120).fill(part)), 2 * MiB, 4);
  const got = await blob.downloadToBuffer();
  assert.ok(got.equals(Buffer.concat(Array(120).fill(part))));
});

test("checksums that the client asks for", async () => {
  const content = randomBytes(5 * MiB);
  const blob = container.getBlockBlobClient("checked");
  const checksum = { contentChecksumAlgorithm: "StorageCrc64" };
  await blob.upload(content, content.length, checksum);
  const answer = await blob.download(0, undefined, checksum);
  assert.ok(Buffer.concat(await all(answer.readableStreamBody)).equals(content));
  await blob.uploadData(content, { blockSize: MiB, maxSingleShotSize: MiB, ...checksum });
  assert.ok((await blob.downloadToBuffer(0, undefined, { blockSize: MiB, ...checksum })).equals(content));
  const md5 = await blob.download(0, MiB, { rangeGetContentMD5: true });
  assert.deepEqual(Buffer.from(md5.contentMD5), createHash("md5").update(content.subarray(0, MiB)).digest());
  md5.readableStreamBody.destroy();
});

test("blocks are staged, committed and listed", async () => {
  const blob = container.getBlockBlobClient("blocks");
  const id = (n) => Buffer.from(`block-${n}`).toString("base64");
  for (const n of [1, 2, 3]) await blob.stageBlock(id(n), `<${n}>`, 3);
  assert.equal(await blob.exists(), false);
  await refused(blob.commitBlockList([id(1), id(9)]), "InvalidBlockList", 400);
  await blob.commitBlockList([id(3), id(1)]);
  assert.equal((await blob.downloadToBuffer()).toString(), "<3><1>");
  await blob.stageBlock(id(4), "<4>", 3);
  const lists = await blob.getBlockList("all");
  assert.deepEqual(lists.committedBlocks.map((block) => block.name), [id(3), id(1)]);
  assert.deepEqual(lists.uncommittedBlocks.map((block) => [block.name, Number(block.size)]), [[id(4), 3]]);
});

test("conditions", async () => {
  const blob = container.getBlockBlobClient("conditions");
  const { etag } = await blob.upload("1", 1);
  await refused(blob.upload("2", 1, { conditions: { ifNoneMatch: "*" } }), "BlobAlreadyExists", 409);
  await blob.upload("2", 1, { conditions: { ifMatch: etag } });
  await refused(blob.upload("3", 1, { conditions: { ifMatch: etag } }), "ConditionNotMet", 412);
  await refused(blob.delete({ conditions: { ifMatch: etag } }), "ConditionNotMet", 412);
  const now = (await blob.getProperties()).etag;
  await assert.rejects(blob.download(0, 1, { conditions: { ifNoneMatch: now } }), (error) => error.statusCode === 304);
});

test("leases", async () => {
  const blob = container.getBlockBlobClient("leases");
  await blob.upload("1", 1);
  const lease = blob.getBlobLeaseClient();
  await lease.acquireLease(15);
  await refused(blob.upload("2", 1), "LeaseIdMissing", 412);
  await refused(blob.getBlobLeaseClient().acquireLease(15), "LeaseAlreadyPresent", 409);
  await blob.upload("2", 1, { conditions: { leaseId: lease.leaseId } });
  await lease.renewLease();
  await lease.changeLease(randomUUID());
  assert.equal((await blob.getProperties()).leaseState, "leased");
  await lease.breakLease(0);
  assert.equal((await blob.getProperties()).leaseState, "broken");
  await blob.upload("3", 1);
  await blob.delete();
});

test("snapshots", async () => {
  const blob = container.getBlockBlobClient("snapshots");
  await blob.upload("first", 5);
  const { snapshot } = await blob.createSnapshot();
  await blob.upload("second", 6);
  assert.equal((await blob.withSnapshot(snapshot).downloadToBuffer()).toString(), "first");
  const listed = await all(container.listBlobsFlat({ prefix: "snapshots", includeSnapshots: true }));
  assert.deepEqual(listed.map((item) => item.snapshot), [snapshot, undefined]);
  await refused(blob.delete(), "SnapshotsPresent", 409);
  await blob.delete({ deleteSnapshots: "include" });
});

test("listings in pages and by folder", async () => {
  const client = service.getContainerClient(newName());
  await client.create();
  const names = ["a/1", "a/2", "a/b/3", "c", "d/4"];
  await Promise.all(names.map((name) => client.getBlockBlobClient(name).upload(name, name.length, { metadata: { name: "x" } })));
  const pages = await all(client.listBlobsFlat({ includeMetadata: true }).byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map((page) => page.segment.blobItems.map((item) => item.name)), [["a/1", "a/2"], ["a/b/3", "c"], ["d/4"]]);
  assert.deepEqual(pages[0].segment.blobItems[0].metadata, { name: "x" });
  const folder = await all(client.listBlobsByHierarchy("/"));
  assert.deepEqual(folder.map((item) => [item.kind, item.name]), [["prefix", "a/"], ["prefix", "d/"], ["blob", "c"]]);
  const inner = await all(client.listBlobsByHierarchy("/", { prefix: "a/" }));
  assert.deepEqual(inner.map((item) => item.name).sort(), ["a/1", "a/2", "a/b/"]);
  await client.delete();
});

test("signatures", async () => {
  const blob = container.getBlockBlobClient("signed");
  await blob.upload("shared", 6);
  const url = await blob.generateSasUrl({ permissions: storage.BlobSASPermissions.parse("r"), expiresOn: soon() });
  const shared = new BlockBlobClient(url, undefined, options);
  assert.equal((await shared.downloadToBuffer()).toString(), "shared");
  await refused(shared.upload("x", 1), "AuthorizationPermissionMismatch", 403);
  const many = await container.generateSasUrl({ permissions: storage.ContainerSASPermissions.parse("rl"), expiresOn: soon() });
  assert.ok((await all(new ContainerClient(many, undefined, options).listBlobsFlat())).some((item) => item.name === "signed"));
  const late = await blob.generateSasUrl({
    permissions: storage.BlobSASPermissions.parse("r"), startsOn: soon(-3), expiresOn: soon(-2),
  });
  await refused(new BlobClient(late, undefined, options).download(), "AuthenticationFailed", 403);
  const account = service.generateAccountSasUrl(soon(), storage.AccountSASPermissions.parse("rl"), "sco");
  const visitor = new BlobServiceClient(account, undefined, options);
  assert.ok((await all(visitor.listContainers())).some((item) => item.name === container.containerName));
});

test("stored policies and public access", async () => {
  const client = service.getContainerClient(newName());
  await client.create();
  const blob = client.getBlockBlobClient("blob");
  await blob.upload("x", 1);
  await client.setAccessPolicy("blob", [{ id: "readers", accessPolicy: { permissions: "r", expiresOn: soon() } }]);
  const policy = await client.getAccessPolicy();
  assert.deepEqual([policy.blobPublicAccess, policy.signedIdentifiers[0].id], ["blob", "readers"]);
  assert.equal((await new BlobClient(blob.url, undefined, options).downloadToBuffer()).toString(), "x");
  const url = await blob.generateSasUrl({ identifier: "readers" });
  assert.equal((await new BlobClient(url, undefined, options).downloadToBuffer()).toString(), "x");
  await client.setAccessPolicy();
  await refused(new BlobClient(url, undefined, options).download(), "AuthenticationFailed", 403);
  await assert.rejects(new BlobClient(blob.url, undefined, options).download());
  await client.delete();
});

test("a wrong key", async () => {
  const wrong = new StorageSharedKeyCredential(key.accountName, Buffer.from("not the key").toString("base64"));
  await refused(all(new BlobServiceClient(service.url, wrong, options).listContainers()), "AuthenticationFailed", 403);
});
