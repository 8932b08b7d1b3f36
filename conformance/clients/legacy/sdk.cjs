// A day in the life of a Node program that was written before 2019: azure-storage 2.10, which speaks 2018-03-28.
//
//     NODE_PATH=… node sdk.cjs BLOB QUEUE TABLE FILE ACCOUNT KEY      the endpoints of one account
//
// Ends with an AssertionError, or says "done".
"use strict";
const assert = require("node:assert");
const { promisify } = require("node:util");
const azure = require("azure-storage");

const [blob, queue, table, file, account, key] = process.argv.slice(2);
const name = "legacyjs" + Date.now();
const tableName = "Legacyjs" + Date.now();

/** Every method as a promise of its first result. */
const promised = (service) =>
  new Proxy(service, {
    get(target, method) {
      const found = target[method];
      return typeof found !== "function" ? found : (...args) => promisify(found.bind(target))(...args);
    },
  });

async function refused(status, promise) {
  const error = await promise.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.strictEqual(error.statusCode, status, String(error));
  return error;
}

async function blobs() {
  const plain = azure.createBlobService(account, key, blob);
  const client = promised(plain);
  await client.createContainer(name);
  await refused(409, client.createContainer(name));
  await client.createBlockBlobFromText(name, "small", "text", { metadata: { a: "b" }, contentSettings: { contentType: "text/plain" } });
  assert.strictEqual(await client.getBlobToText(name, "small"), "text");
  const properties = await client.getBlobProperties(name, "small");
  assert.strictEqual(properties.metadata.a, "b");
  assert.strictEqual(properties.contentLength, "4");
  await client.createBlockFromText("AAAA", name, "blocks", "one");
  await client.createBlockFromText("BBBB", name, "blocks", "two");
  await client.commitBlocks(name, "blocks", { LatestBlocks: ["AAAA", "BBBB"] });
  assert.strictEqual(await client.getBlobToText(name, "blocks"), "onetwo");
  const listed = await client.listBlobsSegmented(name, null, { include: "metadata" });
  assert.deepStrictEqual(listed.entries.map((one) => one.name), ["blocks", "small"]);
  assert.strictEqual(listed.entries[1].metadata.a, "b");
  const lease = await client.acquireLease(name, "small", { leaseDuration: 15 });
  assert.strictEqual((await refused(412, client.deleteBlob(name, "small"))).code, "LeaseIdMissing");
  await client.releaseLease(name, "small", lease.id);
  const start = new Date(Date.now() - 60000), expiry = new Date(Date.now() + 600000);
  const token = plain.generateSharedAccessSignature(name, "small", { AccessPolicy: { Permissions: "r", Start: start, Expiry: expiry } });
  const shared = promised(azure.createBlobServiceWithSas(blob, token));
  assert.strictEqual(await shared.getBlobToText(name, "small"), "text");
  await refused(403, shared.deleteBlob(name, "small"));
  await client.createPageBlob(name, "pages", 1024);
  await client.createAppendBlobFromText(name, "log", "one");
  await client.appendFromText(name, "log", "two");
  assert.strictEqual(await client.getBlobToText(name, "log"), "onetwo");
  await client.setBlobMetadata(name, "small", { c: "d" });
  const cors = { CorsRule: [{ AllowedMethods: ["GET"], AllowedOrigins: ["*"], AllowedHeaders: [], ExposedHeaders: [], MaxAgeInSeconds: 7 }] };
  await client.setServiceProperties({ Cors: cors });
  assert.strictEqual((await client.getServiceProperties()).Cors.CorsRule[0].MaxAgeInSeconds, 7);
  await client.setServiceProperties({ Cors: { CorsRule: [] } });
  await client.deleteContainer(name);
}

async function queues() {
  const client = promised(azure.createQueueService(account, key, queue));
  await client.createQueue(name);
  await client.createMessage(name, "hello <&>");
  const [got] = await client.getMessages(name, { numOfMessages: 1 });
  assert.strictEqual(got.messageText, "hello <&>");
  const changed = await client.updateMessage(name, got.messageId, got.popReceipt, 0, { messageText: "more" });
  await client.deleteMessage(name, got.messageId, changed.popReceipt);
  assert.strictEqual((await client.getQueueMetadata(name)).approximateMessageCount, 0);
  await client.deleteQueue(name);
}

async function tables() {
  const client = promised(azure.createTableService(account, key, table));
  const entity = azure.TableUtilities.entityGenerator;
  await client.createTable(tableName);
  const row = (key, number) => ({ PartitionKey: entity.String("p"), RowKey: entity.String(key), number: entity.Int32(number), long: entity.Int64("1099511627776"), when: entity.DateTime(new Date(Date.UTC(2015, 1, 2))) });
  await client.insertEntity(tableName, row("1", 1));
  await refused(409, client.insertEntity(tableName, row("1", 1)));
  const batch = new azure.TableBatch();
  for (let number = 2; number < 10; number++) batch.insertEntity(row(String(number), number), { echoContent: true });
  await client.executeBatch(tableName, batch);
  const query = new azure.TableQuery().top(3).where("PartitionKey eq ? and number gt ?", "p", 4);
  const found = await client.queryEntities(tableName, query, null);
  assert.deepStrictEqual(found.entries.map((one) => one.number._), [5, 6, 7]);
  assert.strictEqual(found.entries[0].long._, "1099511627776");
  const one = await client.retrieveEntity(tableName, "p", "1");
  assert.strictEqual(one.when._.toISOString(), "2015-02-02T00:00:00.000Z");
  await client.mergeEntity(tableName, { PartitionKey: entity.String("p"), RowKey: entity.String("1"), more: entity.Boolean(true) });
  await client.deleteEntity(tableName, { PartitionKey: entity.String("p"), RowKey: entity.String("1") });
  await refused(404, client.retrieveEntity(tableName, "p", "1"));
  await client.deleteTable(tableName);
}

async function files() {
  const client = promised(azure.createFileService(account, key, file));
  await client.createShare(name, { quota: 5 });
  await client.createDirectory(name, "dir");
  await client.createFileFromText(name, "dir", "f", "0123456789", { metadata: { a: "b" } });
  assert.strictEqual(await client.getFileToText(name, "dir", "f"), "0123456789");
  const listed = await client.listFilesAndDirectoriesSegmented(name, "dir", null);
  assert.deepStrictEqual(listed.entries.files.map((one) => one.name), ["f"]);
  assert.strictEqual((await client.getFileProperties(name, "dir", "f")).metadata.a, "b");
  await client.deleteFile(name, "dir", "f");
  await client.deleteShare(name);
}

blobs().then(queues).then(tables).then(files).then(
  () => console.log("done"),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
