// A counter in a blob that many may add to: reads, writes if nobody else has, and tries again if somebody has. counter.test.mjs proves it.
import { BlobServiceClient } from "@azure/storage-blob";

export class Counter {
  constructor(connectionString, name) {
    const service = BlobServiceClient.fromConnectionString(connectionString, { retryOptions: { maxTries: 1 } });
    this.blob = service.getContainerClient("counters").getBlockBlobClient(name);
  }

  async create() {
    await this.blob.upload("0", 1, { conditions: { ifNoneMatch: "*" } });
  }

  async value() {
    return Number((await this.blob.downloadToBuffer()).toString());
  }

  async add(amount, attempts = 6) {
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        const { etag } = await this.blob.getProperties();
        const text = String((await this.value()) + amount);
        await this.blob.upload(text, text.length, { conditions: { ifMatch: etag } });
        return;
      } catch (error) {
        // 412: somebody was faster. 5xx: the server says that nothing happened, or does not know; the ETag tells at the next try.
        if (![412, 500, 503].includes(error.statusCode)) throw error;
      }
    }
    throw new Error("lost the race too often");
  }
}
