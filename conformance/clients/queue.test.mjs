// Azure's JavaScript SDK for queues, unmodified: what an application does with queues and messages.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const require = createRequire(process.env.MODULES + "/");
const { QueueClient, QueueSASPermissions, QueueServiceClient } = require("@azure/storage-queue");

const options = { retryOptions: { maxTries: 1 } };
const service = QueueServiceClient.fromConnectionString(process.env.CONNECTION_STRING, options);
let queue;

const newName = () => `js-${randomUUID()}`;
const refused = (work, code, status) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.statusCode, error.code], [status, code]);
    return true;
  });

before(async () => {
  queue = service.getQueueClient(newName());
  await queue.create();
});
after(() => queue.deleteIfExists());

test("a queue lives and dies", async () => {
  const client = service.getQueueClient(newName());
  assert.equal(await client.exists(), false);
  await client.create({ metadata: { colour: "blue" } });
  await client.setMetadata({ shape: "round" });
  const properties = await client.getProperties();
  assert.deepEqual([properties.metadata, properties.approximateMessagesCount], [{ shape: "round" }, 0]);
  const names = [];
  for await (const item of service.listQueues({ prefix: client.name })) names.push(item.name);
  assert.deepEqual(names, [client.name]);
  await client.delete();
  await refused(client.getProperties(), "QueueNotFound", 404);
});

test("messages are sent, received, extended and deleted", async () => {
  const texts = ["one", "<two/> & more", "啊齄 \u{10000}"];
  for (const text of texts) await queue.sendMessage(text);
  const peeked = await queue.peekMessages({ numberOfMessages: 32 });
  assert.deepEqual(peeked.peekedMessageItems.map((item) => item.messageText), texts);
  const { receivedMessageItems: got } = await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 60 });
  assert.deepEqual(got.map((item) => item.messageText), texts);
  assert.deepEqual((await queue.receiveMessages()).receivedMessageItems, []);
  const [first] = got;
  const extended = await queue.updateMessage(first.messageId, first.popReceipt, undefined, 120);
  assert.ok(extended.nextVisibleOn > first.nextVisibleOn);
  await refused(queue.deleteMessage(first.messageId, first.popReceipt), "MessageNotFound", 404);
  await queue.deleteMessage(first.messageId, extended.popReceipt);
  const changed = await queue.updateMessage(got[1].messageId, got[1].popReceipt, "changed", 0);
  assert.ok(changed.popReceipt);
  assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, "changed");
  await queue.clearMessages();
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
});

test("a sas opens what it says", async () => {
  const url = queue.generateSasUrl({
    permissions: QueueSASPermissions.parse("a"),
    expiresOn: new Date(Date.now() + 3600_000),
  });
  const client = new QueueClient(url, undefined, options);
  await client.sendMessage("m");
  await refused(client.peekMessages(), "AuthorizationPermissionMismatch", 403);
});

test("access policies are kept", async () => {
  const policy = { permissions: "raup", expiresOn: new Date("2030-01-01") };
  await queue.setAccessPolicy([{ id: "all", accessPolicy: policy }]);
  const { signedIdentifiers } = await queue.getAccessPolicy();
  assert.deepEqual(signedIdentifiers.map((one) => [one.id, one.accessPolicy.permissions]), [["all", "raup"]]);
});

test("many consumers get each message once", async () => {
  const client = service.getQueueClient(newName());
  await client.create();
  await Promise.all(Array.from({ length: 60 }, (_, at) => client.sendMessage(String(at))));
  const seen = [];
  const consume = async () => {
    for (;;) {
      const { receivedMessageItems: got } = await client.receiveMessages({ numberOfMessages: 4 });
      if (got.length === 0) return;
      for (const item of got) {
        seen.push(item.messageText);
        await client.deleteMessage(item.messageId, item.popReceipt);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, consume));
  assert.deepEqual(seen.map(Number).sort((a, b) => a - b), Array.from({ length: 60 }, (_, at) => at));
  await client.delete();
});
