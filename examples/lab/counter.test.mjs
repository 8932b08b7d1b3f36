// Proves counter.mjs with the lab: node --test, with LAZULI_CONSOLE, LAZULI_OPERATOR_TOKEN and LAZULI_CONNECTION as in test_orders.py.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { BlobServiceClient } from "@azure/storage-blob";
import { Counter } from "./counter.mjs";

const { LAZULI_CONSOLE, LAZULI_OPERATOR_TOKEN, LAZULI_CONNECTION } = process.env;

async function lab(method, path, document) {
  const headers = { Authorization: `Bearer ${LAZULI_OPERATOR_TOKEN}` };
  const answer = await fetch(LAZULI_CONSOLE + path, { method, headers, body: document && JSON.stringify(document) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  const text = await answer.text();
  return text && JSON.parse(text);
}

let counter;
beforeEach(async () => {
  await lab("POST", "/api/lab/reset", {});
  await BlobServiceClient.fromConnectionString(LAZULI_CONNECTION).getContainerClient("counters").create();
  counter = new Counter(LAZULI_CONNECTION, "visits");
  await counter.create();
});

test("an addition that loses its race is made again", async () => {
  await lab("POST", "/api/lab/rules", { do: "lose-race", operation: "PutBlob", count: 3 });
  await counter.add(5);
  assert.equal(await counter.value(), 5);
  assert.equal((await lab("GET", "/api/lab")).rules.length, 0, "it lost three times");
});

test("a busy server is asked again", async () => {
  await lab("POST", "/api/lab/rules", { do: "fail", operation: "PutBlob", count: 2 });
  await counter.add(5);
  assert.equal(await counter.value(), 5);
});

test("an answer that says 500 after the write is found out", async () => {
  // The counter must not add twice. It does: what was applied is not told apart from what another did. The lab shows it at once.
  await lab("POST", "/api/lab/rules", { do: "fail", status: 500, apply: true, operation: "PutBlob", count: 1 });
  await counter.add(5);
  assert.equal(await counter.value(), 10, "a counter is not idempotent: use an order's id, as orders.py does");
});
