// Azure's JavaScript SDK for Data Lake Storage, unmodified: file systems, directories and files of an account with a hierarchical namespace.
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const require = createRequire(process.env.MODULES + "/");
const { DataLakeServiceClient, StorageSharedKeyCredential } = require("@azure/storage-file-datalake");
const { BlobServiceClient, StorageSharedKeyCredential: BlobKey } = require("@azure/storage-blob");

const LAKE = "devstorelake1";
const part = (name) => new RegExp(`${name}=([^;]+)`).exec(process.env.CONNECTION_STRING)[1];
const endpoint = part("BlobEndpoint").replace(/[^/]*$/, LAKE);
const options = { retryOptions: { maxTries: 1 } };
const service = new DataLakeServiceClient(endpoint, new StorageSharedKeyCredential(LAKE, part("AccountKey")), options);
const blobs = new BlobServiceClient(endpoint, new BlobKey(LAKE, part("AccountKey")), options);
let system;

const newName = () => `js-${randomUUID()}`;
const refused = (work, code, status) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [status, code]);
    return true;
  });
const collect = async (iterator) => {
  const found = [];
  for await (const item of iterator) found.push(item);
  return found;
};
const names = async (how) => (await collect(system.listPaths(how))).map((path) => path.name);

before(async () => {
  system = service.getFileSystemClient(newName());
  await system.create();
});
after(() => system.deleteIfExists());

test("a file system lives and dies", async () => {
  const other = service.getFileSystemClient(newName());
  await other.create({ metadata: { colour: "blue" } });
  assert.deepEqual((await other.getProperties()).metadata, { colour: "blue" });
  assert.ok((await collect(service.listFileSystems({ prefix: other.name }))).length === 1);
  await other.delete();
  await refused(other.getProperties(), "ContainerNotFound", 404);
});

test("files come back exactly", async () => {
  const file = system.getFileClient("up/dir é/file ß%20.bin");
  const content = randomBytes(9 * 1024 * 1024 + 7);
  await file.upload(content, { chunkSize: 4 * 1024 * 1024, maxConcurrency: 3 });
  assert.equal((await file.getProperties()).contentLength, content.length);
  assert.deepEqual(await file.readToBuffer(), content);
  assert.deepEqual(await names({ path: "up", recursive: true }), ["up/dir é", "up/dir é/file ß%20.bin"]);
});

test("what is appended is seen when it is flushed", async () => {
  const file = system.getFileClient("appended");
  await file.create();
  await file.append("world", 6, 5);
  await file.append("hello ", 0, 6);
  assert.equal((await file.getProperties()).contentLength, 0);
  await file.flush(11);
  assert.equal((await file.readToBuffer()).toString(), "hello world");
  await refused(file.flush(20), "InvalidFlushPosition", 400);
  await file.append("!", 11, 1, { flush: true });
  assert.equal((await file.readToBuffer()).toString(), "hello world!");
});

test("a directory moves with all that is below it", async () => {
  await system.getFileClient("from/a/b").upload(Buffer.from("moved"));
  const before = await system.getFileClient("from/a/b").getProperties();
  await system.getDirectoryClient("from").move("to");
  assert.equal(await system.getDirectoryClient("from").exists(), false);
  const moved = system.getFileClient("to/a/b");
  assert.equal((await moved.getProperties()).etag, before.etag);
  assert.equal((await moved.readToBuffer()).toString(), "moved");
  await system.getDirectoryClient("full/of").create();
  await refused(system.getDirectoryClient("to").move("full"), "PathAlreadyExists", 409);
  const other = service.getFileSystemClient(newName());
  await other.create();
  await system.getDirectoryClient("to").move(other.name, "elsewhere");
  assert.equal((await other.getFileClient("elsewhere/a/b").readToBuffer()).toString(), "moved");
  assert.equal(await system.getDirectoryClient("to").exists(), false);
  await other.delete();
});

test("lists say who may", async () => {
  const directory = system.getDirectoryClient("guarded");
  await directory.create({ permissions: "rwxr-x---", umask: "0000" });
  assert.equal((await directory.getAccessControl()).permissions.owner.execute, true);
  const entry = (accessControlType, entityId, read, execute) => ({
    accessControlType, entityId, defaultScope: false, permissions: { read, write: false, execute },
  });
  await directory.getFileClient("f").create();
  const who = randomUUID();
  const changed = await directory.updateAccessControlRecursive([entry("user", who, true, true)], { batchSize: 1 });
  assert.deepEqual([changed.counters.changedDirectoriesCount, changed.counters.changedFilesCount], [1, 1]);
  const seen = await directory.getFileClient("f").getAccessControl();
  assert.ok(seen.acl.some((item) => item.entityId === who));
  await refused(directory.setPermissions({ owner: {}, group: {}, other: {} }, { conditions: { ifMatch: '"0x1"' } }), "ConditionNotMet", 412);
});

test("leases and conditions hold", async () => {
  const file = system.getFileClient("leased");
  await file.create();
  const lease = file.getDataLakeLeaseClient();
  await lease.acquireLease(60);
  await refused(file.append("x", 0, 1), "LeaseIdMissing", 412);
  await file.append("x", 0, 1, { conditions: { leaseId: lease.leaseId } });
  await refused(file.delete(), "LeaseIdMissing", 412);
  await lease.releaseLease();
  await file.delete();
  assert.equal(await file.exists(), false);
});

test("blobs and paths are the same files", async () => {
  const container = blobs.getContainerClient(system.name);
  await container.getBlockBlobClient("both/by blob").upload("blob", 4);
  assert.equal((await system.getFileClient("both/by blob").readToBuffer()).toString(), "blob");
  await system.getFileClient("both/by path").upload(Buffer.from("path"));
  assert.equal((await container.getBlobClient("both/by path").downloadToBuffer()).toString(), "path");
  await system.getDirectoryClient("both").delete(true);
  assert.deepEqual(await collect(container.listBlobsFlat({ prefix: "both" })), []);
});
