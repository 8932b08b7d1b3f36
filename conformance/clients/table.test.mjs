// Azure's JavaScript SDK for tables, unmodified: what an application does with tables and entities.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

const require = createRequire(process.env.MODULES + "/");
const { TableClient, TableServiceClient, TableTransaction, odata } = require("@azure/data-tables");

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const service = TableServiceClient.fromConnectionString(process.env.CONNECTION_STRING, options);
const open = (name) => TableClient.fromConnectionString(process.env.CONNECTION_STRING, name, options);
const newName = () => `js${randomUUID().replaceAll("-", "")}`;
let table;

const refused = (work, code, status) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.statusCode, error.details?.odataError?.code ?? error.code], [status, code]);
    return true;
  });
const list = async (options) => {
  const found = [];
  for await (const one of table.listEntities(options)) found.push(one);
  return found;
};

before(async () => {
  table = open(newName());
  await table.createTable();
});
after(() => table.deleteTable());

test("a table lives and dies", async () => {
  const name = newName();
  await service.createTable(name);
  await service.createTable(name); // to this SDK a table that is there is no error
  const names = [];
  for await (const item of service.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } })) names.push(item.name);
  assert.deepEqual(names, [name]);
  await service.deleteTable(name);
});

test("every type comes back as it was", async () => {
  const sent = {
    partitionKey: "types",
    rowKey: "it's/1".replace("/", "-"),
    text: "grüße 啊齄 \u{10000} \"'<&",
    yes: true,
    int: 42,
    double: 0.1 + 0.2,
    whole: { value: "5", type: "Double" },
    large: 9007199254740993n,
    binary: new Uint8Array([0, 1, 254, 255]),
    guid: { value: randomUUID(), type: "Guid" },
    when: new Date("2024-02-29T12:34:56.789Z"),
  };
  await table.createEntity(sent);
  const got = await table.getEntity(sent.partitionKey, sent.rowKey);
  for (const name of ["text", "yes", "int", "double", "large", "guid"]) assert.deepEqual(got[name], sent[name], name);
  assert.deepEqual(new Uint8Array(got.binary), sent.binary);
  assert.deepEqual(new Date(got.when), sent.when);
  assert.equal(got.whole, 5);
});

test("optimistic updates", async () => {
  const key = { partitionKey: "o", rowKey: "r" };
  const { etag } = await table.createEntity({ ...key, a: 1 });
  await refused(table.createEntity(key), "EntityAlreadyExists", 409);
  await table.updateEntity({ ...key, b: 2 }, "Merge", { etag });
  await refused(table.updateEntity({ ...key, c: 3 }, "Replace", { etag }), "UpdateConditionNotSatisfied", 412);
  const found = await table.getEntity("o", "r");
  assert.deepEqual([found.a, found.b, found.c], [1, 2, undefined]);
  await table.updateEntity({ ...key, c: 3 }, "Replace");
  await table.upsertEntity({ ...key, d: 4 }, "Merge");
  assert.deepEqual([(await table.getEntity("o", "r")).c, (await table.getEntity("o", "r")).d], [3, 4]);
  await refused(table.deleteEntity("o", "r", { etag }), "UpdateConditionNotSatisfied", 412);
  await table.deleteEntity("o", "r");
  await refused(table.getEntity("o", "r"), "ResourceNotFound", 404);
});

test("queries, page by page", async () => {
  for (let n = 0; n < 12; n++) await table.createEntity({ partitionKey: `q${n % 2}`, rowKey: `${10 + n}`, n });
  const rows = async (filter) => (await list({ queryOptions: { filter } })).map((one) => one.n);
  assert.deepEqual(await rows(odata`PartitionKey eq ${"q1"} and n lt ${6}`), [1, 3, 5]);
  assert.deepEqual(await rows("PartitionKey eq 'q0' and RowKey ge '18' or RowKey eq '11'"), [8, 10, 1]);
  const sizes = [];
  const pages = table.listEntities({ queryOptions: { filter: "PartitionKey ge 'q' and PartitionKey lt 'r'", select: ["n"] } });
  for await (const page of pages.byPage({ maxPageSize: 5 })) sizes.push(page.length);
  assert.deepEqual(sizes, [5, 5, 2]);
  await refused(rows("n eq"), "InvalidInput", 400);
});

test("transactions are all or nothing", async () => {
  const work = new TableTransaction();
  for (let n = 0; n < 3; n++) work.createEntity({ partitionKey: "t", rowKey: `${n}`, n });
  const done = await table.submitTransaction(work.actions);
  assert.equal(done.status, 202);
  assert.deepEqual(done.subResponses.map((one) => one.status), [204, 204, 204]);
  const bad = [
    ["delete", { partitionKey: "t", rowKey: "0" }],
    ["create", { partitionKey: "t", rowKey: "1" }],
  ];
  await refused(table.submitTransaction(bad), "EntityAlreadyExists", 409);
  assert.equal((await list({ queryOptions: { filter: "PartitionKey eq 't'" } })).length, 3);
});
