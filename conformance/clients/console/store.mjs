// What the server holds, as the official SDKs see it; and what several tests of the console do.
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(process.env.MODULES + "/");
const { BlobServiceClient } = require("@azure/storage-blob");
const { QueueServiceClient } = require("@azure/storage-queue");
const { ShareServiceClient } = require("@azure/storage-file-share");
const { TableClient, TableServiceClient } = require("@azure/data-tables");

export const { CONNECTION_STRING } = process.env;
const options = { retryOptions: { maxTries: 1 } };
export const blobs = BlobServiceClient.fromConnectionString(CONNECTION_STRING, options);
export const queues = QueueServiceClient.fromConnectionString(CONNECTION_STRING, options);
export const shares = ShareServiceClient.fromConnectionString(CONNECTION_STRING, options);
export const tables = TableServiceClient.fromConnectionString(CONNECTION_STRING, { allowInsecureConnection: true });
export const tableClient = (name) => TableClient.fromConnectionString(CONNECTION_STRING, name, { allowInsecureConnection: true });

/** Where files to upload are made. */
export const folder = mkdtempSync(join(tmpdir(), "lazuli-console-files-"));
export const unique = (name) => `${name}-${randomBytes(4).toString("hex")}`;
/** What a blob holds, by one request: downloadToBuffer asks for the length first, and the page may change the blob in between. */
export async function text(client) {
  const parts = [];
  for await (const part of (await client.download()).readableStreamBody) parts.push(part);
  return Buffer.concat(parts).toString();
}

export async function container(files = {}) {
  const client = blobs.getContainerClient(unique("pictures"));
  await client.create();
  for (const [name, content] of Object.entries(files)) {
    const type = name.endsWith(".json") ? "application/json" : "text/plain";
    await client.getBlockBlobClient(name).upload(content, Buffer.byteLength(content), { blobHTTPHeaders: { blobContentType: type } });
  }
  return client;
}
