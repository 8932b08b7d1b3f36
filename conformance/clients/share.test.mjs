// Azure's JavaScript SDK for file shares, unmodified: what an application does with shares, directories and files.
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const require = createRequire(process.env.MODULES + "/");
const { ShareClient, ShareSASPermissions, ShareServiceClient } = require("@azure/storage-file-share");

const options = { retryOptions: { maxTries: 1 } };
const service = ShareServiceClient.fromConnectionString(process.env.CONNECTION_STRING, options);
let share;

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

before(async () => {
  share = service.getShareClient(newName());
  await share.create();
});
after(() => share.deleteIfExists({ deleteSnapshots: "include" }));

test("a share lives and dies", async () => {
  const client = service.getShareClient(newName());
  assert.equal(await client.exists(), false);
  await client.create({ metadata: { colour: "blue" }, quota: 7 });
  await client.setMetadata({ shape: "round" });
  const found = await client.getProperties();
  assert.deepEqual([found.metadata, found.quota], [{ shape: "round" }, 7]);
  const listed = await collect(service.listShares({ prefix: client.name, includeMetadata: true }));
  assert.deepEqual(listed.map((item) => [item.name, item.metadata]), [[client.name, { shape: "round" }]]);
  await client.delete();
  await refused(client.getProperties(), "ShareNotFound", 404);
});

test("files come back exactly", async () => {
  const directory = share.getDirectoryClient("dir é");
  await directory.create();
  const file = directory.getFileClient("file ß%20.bin");
  const content = randomBytes(9 * 1024 * 1024 + 7);
  await file.uploadData(content, { rangeSize: 4 * 1024 * 1024, concurrency: 3 });
  assert.equal((await file.getProperties()).contentLength, content.length);
  assert.deepEqual(await file.downloadToBuffer(), content);
  const part = await file.download(5, 10, { rangeGetContentMD5: true });
  assert.equal(part.contentLength, 10);
  const listed = await collect(directory.listFilesAndDirectories({ includeExtendedInfo: true, includeAttributes: true }));
  assert.deepEqual(listed.map((item) => [item.kind, item.name]), [["file", "file ß%20.bin"]]);
  await refused(directory.delete(), "DirectoryNotEmpty", 409);
});

test("ranges are written, cleared and listed", async () => {
  const file = share.getDirectoryClient("").getFileClient("ranges");
  await file.create(4096);
  await file.uploadRange(Buffer.alloc(512, 1), 1024, 512);
  await file.clearRange(1024, 512);
  await file.uploadRange(Buffer.alloc(512, 2), 1536, 512);
  const { rangeList } = await file.getRangeList();
  assert.deepEqual(rangeList.map(({ start, end }) => [start, end]), [[1536, 2047]]);
  await file.resize(1024);
  assert.deepEqual((await file.getRangeList()).rangeList, []);
});

test("files and directories are renamed", async () => {
  const one = share.getDirectoryClient("rename-one");
  await one.create();
  const file = one.getFileClient("file");
  await file.uploadData(Buffer.from("content"));
  // In path style this client forgets the account in the URL that it renames to, and in the client that it returns.
  await file.rename("rename-one/file2");
  assert.equal((await one.getFileClient("file2").downloadToBuffer()).toString(), "content");
  await one.rename("rename-two");
  const two = share.getDirectoryClient("rename-two");
  assert.equal((await two.getFileClient("file2").downloadToBuffer()).toString(), "content");
  assert.equal(await one.exists(), false);
});

test("a file is copied", async () => {
  const root = share.getDirectoryClient("");
  const source = root.getFileClient("copy-source");
  await source.uploadData(Buffer.from("content"));
  const target = root.getFileClient("copy-target");
  const started = await target.startCopyFromURL(source.url);
  assert.equal(started.copyStatus, "success");
  assert.equal((await target.downloadToBuffer()).toString(), "content");
});

test("a snapshot keeps what was", async () => {
  const file = share.getDirectoryClient("").getFileClient("snapped");
  await file.uploadData(Buffer.from("before"));
  const { snapshot } = await share.createSnapshot();
  await file.uploadData(Buffer.from("later!"));
  const then = share.withSnapshot(snapshot).getDirectoryClient("").getFileClient("snapped");
  assert.equal((await then.downloadToBuffer()).toString(), "before");
  assert.equal((await file.downloadToBuffer()).toString(), "later!");
});

test("a lease keeps others away", async () => {
  const file = share.getDirectoryClient("").getFileClient("leased");
  await file.create(10);
  const lease = file.getShareLeaseClient();
  await lease.acquireLease();
  await refused(file.delete(), "LeaseIdMissing", 412);
  await lease.releaseLease();
  await file.delete();
});

test("a sas opens what it says", async () => {
  const url = share.generateSasUrl({
    permissions: ShareSASPermissions.parse("rl"),
    expiresOn: new Date(Date.now() + 3600_000),
  });
  const client = new ShareClient(url, undefined, options);
  await collect(client.getDirectoryClient("").listFilesAndDirectories());
  await refused(client.getDirectoryClient("new").create(), "AuthorizationPermissionMismatch", 403);
});

test("access policies and permissions are kept", async () => {
  const policy = { permissions: "rcwdl", expiresOn: new Date("2030-01-01") };
  await share.setAccessPolicy([{ id: "all", accessPolicy: policy }]);
  const { signedIdentifiers } = await share.getAccessPolicy();
  assert.deepEqual(signedIdentifiers.map((one) => [one.id, one.accessPolicy.permissions]), [["all", "rcwdl"]]);
  const sddl = "O:BAG:BAD:(A;;FA;;;SY)";
  const { filePermissionKey } = await share.createPermission(sddl);
  assert.ok((await share.getPermission(filePermissionKey)).permission.startsWith("O:"));
});
