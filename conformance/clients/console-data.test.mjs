// server: --lab
// The console in a browser: every view of data is driven as a person would, and the official SDKs say what the server then holds.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { ACCOUNT, becomeOperator, close, confirm, detail, goTo, menu, note, screenshot, tab, until, withPage } from "./console/browser.mjs";
import { holder } from "./console/holder.mjs";
import { blobs, container, folder, queues, shares, tableClient, tables, text, unique } from "./console/store.mjs";

/** As in console/src/ui/window.ts. */
const PAGES_KEPT = 20;

after(close);

test("containers are made, changed, and deleted after their name was typed", async () => {
  const name = unique("made");
  await withPage(async (page) => {
    await page.getByRole("button", { name: "New container" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: /^Name/ }).fill(name);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Nothing is here yet.").waitFor();
    const client = blobs.getContainerClient(name);
    assert.ok(await client.exists());
    await menu(page, "More about this container", "Properties and metadata…");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "+ Add metadata" }).click();
    await dialog.getByLabel("Name of metadata 1").fill("colour");
    await dialog.getByLabel("Value of metadata 1").fill("blue");
    await dialog.getByRole("button", { name: "Save" }).click();
    await until(async () => (await client.getProperties()).metadata?.colour === "blue", "metadata");
    await dialog.getByRole("button", { name: "Close", exact: true }).first().click();
    await menu(page, "More about this container", "Delete the container…");
    await confirm(page, "Delete the container", name);
    await until(async () => !(await client.exists()), "the end of the container");
  });
});

test("files and folders are uploaded with progress, downloaded, and never replaced unasked", async () => {
  const client = await container();
  mkdirSync(join(folder, "trip/day one"), { recursive: true });
  const big = randomBytes(20 << 20);
  writeFileSync(join(folder, "big.bin"), big);
  writeFileSync(join(folder, "notes.txt"), "first");
  writeFileSync(join(folder, "trip/map.txt"), "north");
  writeFileSync(join(folder, "trip/day one/ümlaut ß+%.txt"), "grüße");
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByText("Nothing is here yet.").waitFor();
    await page.getByLabel("Files to upload").setInputFiles([join(folder, "big.bin"), join(folder, "notes.txt")]);
    await page.getByText(/2 files done/).waitFor();
    await page.getByLabel("Folder to upload").setInputFiles(join(folder, "trip"));
    await page.getByRole("row", { name: /trip\// }).waitFor();
    assert.ok((await client.getBlobClient("big.bin").downloadToBuffer()).equals(big));
    assert.equal(await text(client.getBlobClient("trip/day one/ümlaut ß+%.txt")), "grüße");
    writeFileSync(join(folder, "notes.txt"), "second");
    await page.getByLabel("Files to upload").setInputFiles(join(folder, "notes.txt"));
    await page.getByRole("button", { name: "Replace", exact: true }).waitFor();
    assert.equal(await text(client.getBlobClient("notes.txt")), "first");
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    await until(async () => (await text(client.getBlobClient("notes.txt"))) === "second", "the replaced file");
    await page.getByRole("row", { name: /trip\// }).click();
    await page.getByRole("row", { name: /map\.txt/ }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), detail(page).getByRole("link", { name: "Download" }).click()]);
    assert.equal(readFileSync(await download.path(), "utf8"), "north");
    assert.equal(download.suggestedFilename(), "map.txt");
  });
});

test("an upload is cancelled, and nothing of it is seen", async () => {
  const client = await container();
  writeFileSync(join(folder, "huge.bin"), randomBytes(64 << 20));
  await withPage(async (page, context) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByText("Nothing is here yet.").waitFor();
    const network = await context.newCDPSession(page);
    await network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4 << 20 });
    await page.getByLabel("Files to upload").setInputFiles(join(folder, "huge.bin"));
    await page.getByRole("button", { name: "Cancel all" }).click();
    await page.locator(".upload").getByText("cancelled").waitFor();
    assert.ok(!(await client.getBlobClient("huge.bin").exists()));
  }, { allow: /net::ERR_ABORTED/ });
});

test("files that are dropped on the list are uploaded", async () => {
  const client = await container();
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByText("Nothing is here yet.").waitFor();
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["dropped"], "drop.txt", { type: "text/plain" }));
      return data;
    });
    await page.dispatchEvent(".split", "drop", { dataTransfer: transfer });
    await until(async () => (await client.getBlobClient("drop.txt").exists()) && (await text(client.getBlobClient("drop.txt"))) === "dropped", "the dropped file");
  });
});

test("a folder that is dropped keeps its paths", async () => {
  const client = await container();
  mkdirSync(join(folder, "album/summer"), { recursive: true });
  writeFileSync(join(folder, "album/cover.txt"), "cover");
  writeFileSync(join(folder, "album/summer/beach.txt"), "sand");
  await withPage(async (page, context) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByText("Nothing is here yet.").waitFor();
    // As the desktop does it: only so is a folder a folder.
    const { x, y, width, height } = await page.locator(".split").boundingBox();
    const devtools = await context.newCDPSession(page);
    const data = { items: [], files: [join(folder, "album")], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) await devtools.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
    await until(async () => (await client.getBlobClient("album/summer/beach.txt").exists()) && (await client.getBlobClient("album/cover.txt").exists()), "the dropped folder");
    assert.equal(await text(client.getBlobClient("album/summer/beach.txt")), "sand");
    await page.getByRole("row", { name: /album\// }).waitFor();
  });
});

test("text, JSON, images, CSV and Parquet are shown", async () => {
  const client = await container({ "hello.txt": "hello <b>world</b>", "cats.json": '{"name":"tom","lives":9}' });
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"><rect width="80" height="60" fill="#2c57cf"/></svg>';
  await client.getBlockBlobClient("drawing.svg").upload(svg, svg.length, { blobHTTPHeaders: { blobContentType: "image/svg+xml" } });
  const csv = "city,people\n" + Array.from({ length: 300 }, (_, index) => `city ${index},${index * 1000}`).join("\n") + "\n";
  await client.getBlockBlobClient("cities.csv").upload(csv, csv.length, { blobHTTPHeaders: { blobContentType: "text/csv" } });
  const parquet = readFileSync(new URL("../../crates/query/src/parquet/testdata/typed.parquet", import.meta.url));
  await client.getBlockBlobClient("fruit.parquet").upload(parquet, parquet.length);
  await withPage(async (page) => {
    const preview = async (name) => {
      await goTo(page, "data", "blob", client.containerName, "", name);
      await detail(page).getByRole("heading", { name }).waitFor();
      await tab(page, "Preview");
    };
    await preview("hello.txt");
    await detail(page).getByText("hello <b>world</b>").waitFor();
    await preview("cats.json");
    await detail(page).locator(".json-key", { hasText: '"lives"' }).waitFor();
    await preview("drawing.svg");
    await until(async () => detail(page).locator("img").evaluate((image) => image.naturalWidth === 80), "the image");
    await preview("fruit.parquet");
    await detail(page).getByRole("cell", { name: "apple" }).first().waitFor();
    await detail(page).getByRole("cell", { name: "18446744073709551615" }).waitFor();
    await preview("cities.csv");
    await detail(page).getByRole("cell", { name: "city 7", exact: true }).waitFor();
    await detail(page).getByLabel(/^Query/).fill("SELECT city, people FROM BlobStorage WHERE people > 295000");
    await detail(page).getByRole("button", { name: "Run" }).click();
    await detail(page).getByText("4 rows").waitFor();
    await screenshot(page, "data-preview");
  });
});

test("properties, metadata and tags are written only over what was read", async () => {
  const client = await container({ "note.txt": "one" });
  const blob = client.getBlockBlobClient("note.txt");
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName, "", "note.txt");
    await detail(page).getByRole("heading", { name: "note.txt" }).waitFor();
    await tab(page, "Edit");
    await detail(page).getByLabel("Content type").fill("text/markdown");
    await detail(page).getByRole("button", { name: "+ Add metadata" }).click();
    await detail(page).getByLabel("Name of metadata 1").fill("author");
    await detail(page).getByLabel("Value of metadata 1").fill("ada");
    await detail(page).getByRole("button", { name: "+ Add tag" }).click();
    await detail(page).getByLabel("Name of tag 1").fill("project");
    await detail(page).getByLabel("Value of tag 1").fill("lapis");
    await detail(page).getByRole("button", { name: "Save" }).click();
    await note(page, "Saved.");
    const found = await blob.getProperties();
    assert.deepEqual([found.contentType, found.metadata.author], ["text/markdown", "ada"]);
    assert.equal((await blob.getTags()).tags.project, "lapis");
    assert.equal(await text(blob), "one");
    // What was written is read again before it is edited; then somebody else is faster.
    await detail(page).locator("button.main[disabled]", { hasText: "Save" }).waitFor();
    await detail(page).getByLabel("Value of metadata 1").fill("grace");
    await blob.setMetadata({ author: "edsger" });
    await detail(page).getByRole("button", { name: "Save" }).click();
    await detail(page).getByText("Somebody changed this after you read it.").waitFor();
    assert.equal((await blob.getProperties()).metadata.author, "edsger");
    await detail(page).getByRole("button", { name: "Why was I refused?" }).click();
    await page.locator(".said", { hasText: "If-Match" }).waitFor();
    await page.getByRole("heading", { name: "Won: Set Blob Metadata" }).waitFor();
    await screenshot(page, "concurrency-explain");
    await page.getByRole("link", { name: "Timeline of the object" }).click();
    await page.locator(".step.refusal").waitFor();
    assert.equal(await page.locator(".step.refusal").count(), 1, "the page asked more than once");
  });
});

test("snapshots are taken, looked at and restored; copies and tiers are made", async () => {
  const client = await container({ "poem.txt": "first draft" });
  const blob = client.getBlockBlobClient("poem.txt");
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName, "", "poem.txt");
    await detail(page).getByRole("heading", { name: "poem.txt" }).waitFor();
    await menu(page, "More about this blob", "Take a snapshot");
    await detail(page).getByRole("cell", { name: "snapshot" }).waitFor();
    await blob.upload("second draft", 12);
    await detail(page).getByRole("button", { name: "Look" }).click();
    await detail(page).getByText(/snapshot of/).waitFor();
    await tab(page, "Preview");
    await detail(page).getByText("first draft").waitFor();
    await detail(page).getByRole("button", { name: "back to the blob" }).click();
    await tab(page, "Versions");
    await detail(page).getByRole("button", { name: "Restore" }).click();
    await confirm(page, "Restore");
    await until(async () => (await text(blob)) === "first draft", "the restored content");
    await tab(page, "Overview");
    await menu(page, "More about this blob", "Move to Cool");
    await until(async () => (await blob.getProperties()).accessTier === "Cool", "the tier");
    await detail(page).getByRole("button", { name: "Copy…" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("copies/poem.txt");
    await page.getByRole("dialog").getByRole("button", { name: "Copy", exact: true }).click();
    await until(async () => client.getBlobClient("copies/poem.txt").exists(), "the copy");
    assert.equal(await text(client.getBlobClient("copies/poem.txt")), "first draft");
  });
});

test("leases are acquired, kept and broken after the name was typed", async () => {
  const client = await container({ "door.txt": "shut" });
  const blob = client.getBlockBlobClient("door.txt");
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName, "", "door.txt");
    await detail(page).getByRole("heading", { name: "door.txt" }).waitFor();
    await tab(page, "Lease");
    await detail(page).getByRole("button", { name: "Acquire" }).click();
    await detail(page).getByText("Somebody holds the lease.").waitFor();
    assert.equal((await blob.getProperties()).leaseState, "leased");
    await assert.rejects(blob.upload("open", 4), { code: "LeaseIdMissing" });
    await goTo(page, "concurrency", "holders");
    await page.getByRole("row", { name: /door\.txt/ }).getByRole("button", { name: /Put Blob/ }).waitFor();
    await screenshot(page, "concurrency-leases");
    await goTo(page, "data", "blob", client.containerName, "", "door.txt");
    await tab(page, "Lease");
    await detail(page).getByRole("button", { name: "Break…" }).click();
    await confirm(page, "Break the lease", "door.txt");
    await until(async () => (await blob.getProperties()).leaseState === "broken", "the broken lease");
    await blob.upload("open", 4);
  });
});

test("what was deleted softly comes back", async () => {
  await blobs.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } });
  try {
    const client = await container({ "lost.txt": "found", "kept.txt": "kept" });
    await withPage(async (page) => {
      await goTo(page, "data", "blob", client.containerName);
      await page.getByRole("row", { name: /lost\.txt/ }).getByRole("checkbox").click();
      await page.getByRole("button", { name: "Delete…" }).click();
      await confirm(page, "Delete");
      await note(page, "Deleted 1 blob.");
      assert.ok(!(await client.getBlobClient("lost.txt").exists()));
      await menu(page, "More about this container", "Show what was deleted");
      await page.getByRole("row", { name: /lost\.txt/ }).getByText("deleted, 6 days left").waitFor();
      await page.getByRole("row", { name: /lost\.txt/ }).click();
      await confirm(page, "Restore");
      await until(async () => client.getBlobClient("lost.txt").exists(), "what was lost");
      assert.equal(await text(client.getBlobClient("lost.txt")), "found");
    });
  } finally {
    await blobs.setProperties({ deleteRetentionPolicy: { enabled: false } });
  }
});

test("a folder is deleted with all that is in it, and nothing else", async () => {
  const client = await container({ "keep/a.txt": "a", "old/b.txt": "b", "old/deep/c.txt": "c", "older.txt": "d" });
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByRole("row", { name: /old\// }).getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await confirm(page, "Delete", client.containerName);
    await note(page, /Deleted 2 blobs/);
    const left = [];
    for await (const blob of client.listBlobsFlat()) left.push(blob.name);
    assert.deepEqual(left, ["keep/a.txt", "older.txt"]);
  });
});

test("thousands of names come page by page, and few of them are in the page", async () => {
  const client = await container();
  const empty = Buffer.alloc(0);
  // More pages than the page keeps. A million: NAMES=1000000.
  const names = Array.from({ length: Number(process.env.NAMES ?? 25_000) }, (_, index) => `row-${String(index).padStart(7, "0")}`);
  let at = 0;
  const worker = async () => {
    while (at < names.length) await client.getBlockBlobClient(names[at++]).upload(empty, 0);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  await withPage(async (page) => {
    const pages = [];
    page.on("request", (request) => request.url().includes("comp=list") && request.url().includes(client.containerName) && pages.push(request.url()));
    await goTo(page, "data", "blob", client.containerName);
    await page.getByRole("row", { name: /row-0000000/ }).waitFor();
    assert.equal(pages.length, 1, "only the first page was asked for");
    const list = page.locator(".rows .scroll");
    await list.focus();
    const whole = Math.ceil(names.length / 1000);
    for (let seen = 0; seen < whole; ) {
      // Pressed while a page is on its way, the key leads to the end of what is there.
      seen = await until(async () => {
        await page.keyboard.press("End");
        return pages.length > seen || pages.length === whole ? pages.length : 0;
      }, "the next page");
    }
    await until(async () => {
      await page.keyboard.press("End");
      return page.getByRole("row", { name: new RegExp(names.at(-1)) }).isVisible();
    }, "the last name");
    assert.equal(pages.length, whole, "each page was asked for once");
    assert.ok((await page.locator(".rows .row").count()) < 100, "rows out of sight are in the page");
    await page.keyboard.press("Enter");
    await detail(page).getByRole("heading", { name: names.at(-1) }).waitFor();
    // The first page was forgotten, and comes back when it is looked at.
    await list.focus();
    await page.keyboard.press("Home");
    await page.getByRole("row", { name: /row-0000000/ }).waitFor();
    assert.equal(pages.length, whole + (whole > PAGES_KEPT ? 1 : 0), "what is out of sight is not kept");
    assert.ok((await page.locator(".rows .row").count()) < 100, "rows out of sight are in the page");
    await page.getByLabel("Names that begin with").last().fill("row-00020");
    await page.getByRole("row", { name: /row-0002000/ }).waitFor();
  });
});

test("blobs are found by their tags", async () => {
  const client = await container({ "tagged.txt": "x" });
  const value = unique("v");
  await client.getBlobClient("tagged.txt").setTags({ project: value });
  await withPage(async (page) => {
    await page.getByLabel("Condition on tags").fill(`"project" = '${value}'`);
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("link", { name: `${client.containerName}/tagged.txt` }).click();
    await detail(page).getByRole("heading", { name: "tagged.txt" }).waitFor();
  });
});

test("a SAS is made that works, and one that does not is explained", async () => {
  const client = await container({ "shared.txt": "for you" });
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName, "", "shared.txt");
    await detail(page).getByRole("button", { name: "SAS…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Make a SAS" }).click();
    const url = await page.getByRole("dialog").locator(".right code").innerText();
    const answer = await fetch(url);
    assert.deepEqual([answer.status, await answer.text()], [200, "for you"]);
    assert.equal((await fetch(url, { method: "DELETE" })).status, 403);
    await page.keyboard.press("Escape");
    await goTo(page, "data", "sas");
    const check = async (address, method) => {
      await page.getByLabel("A URL with a SAS").fill(address);
      await page.getByLabel("For", { exact: true }).selectOption(method);
      await page.getByRole("button", { name: "Check" }).click();
    };
    await check(url, "GET");
    await page.getByText("It would be accepted.").waitFor();
    await check(url, "DELETE");
    await page.getByText("It would be refused").waitFor();
    await check(url.replace(/se=[^&]+/, "se=2020-01-01T00%3A00%3A00Z"), "GET");
    await page.locator(".wrong", { hasText: /AuthenticationFailed/ }).waitFor();
    await screenshot(page, "data-sas");
  });
});

test("shares: directories, files, renames, snapshots, leases, handles", async () => {
  const share = shares.getShareClient(unique("home"));
  await share.create();
  writeFileSync(join(folder, "letter.txt"), "dear reader");
  await withPage(async (page) => {
    await goTo(page, "data", "file", share.name);
    await page.getByText("Nothing is here yet.").waitFor();
    await page.getByRole("button", { name: "New directory…" }).click();
    await page.getByRole("dialog").getByLabel(/^Name/).fill("papers");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByRole("row", { name: /papers/ }).click();
    await page.getByText("Nothing is here yet.").waitFor();
    await page.getByLabel("Files to upload").setInputFiles(join(folder, "letter.txt"));
    await page.getByRole("row", { name: /letter\.txt/ }).waitFor();
    const file = share.getDirectoryClient("papers").getFileClient("letter.txt");
    assert.equal((await file.downloadToBuffer()).toString(), "dear reader");
    await menu(page, "More about this share", "Take a snapshot of the share");
    await note(page, "Took a snapshot");
    await page.getByRole("row", { name: /letter\.txt/ }).click();
    await detail(page).getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("dialog").getByLabel(/Path in the share/).fill("papers/old letter.txt");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await until(async () => share.getDirectoryClient("papers").getFileClient("old letter.txt").exists(), "the renamed file");
    await page.getByRole("row", { name: /old letter\.txt/ }).click();
    await detail(page).getByRole("button", { name: "Acquire" }).click();
    await until(async () => (await share.getDirectoryClient("papers").getFileClient("old letter.txt").getProperties()).leaseState === "leased", "the lease");
    await detail(page).getByRole("button", { name: "Break…" }).click();
    await confirm(page, "Break the lease", "old letter.txt");
    await until(async () => (await share.getDirectoryClient("papers").getFileClient("old letter.txt").getProperties()).leaseState === "broken", "the broken lease");
    await menu(page, "More about this share", "Open handles…");
    await page.getByText("Nobody has anything open here.").waitFor();
    await page.keyboard.press("Escape");
    await screenshot(page, "data-share");
    await goTo(page, "data", "file", share.name);
    await page.getByRole("row", { name: /papers/ }).getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await confirm(page, "Delete", share.name);
    await until(async () => !(await share.getDirectoryClient("papers").exists()), "the end of the directory");
    await menu(page, "More about this share", "Delete the share…");
    await confirm(page, "Delete the share", share.name);
    await until(async () => !(await share.exists()), "the end of the share");
  });
});

test("files that SMB clients hold are shown with their locks, blamed for refusals, and closed by force", async () => {
  const share = shares.getShareClient(unique("held"));
  await share.create();
  const file = share.rootDirectoryClient.getFileClient("report.txt");
  await file.create(16);
  const smb = holder(share.name);
  try {
    assert.deepEqual(await smb.ask("open", "one", "report.txt", "rw", "r", 0), { done: true });
    assert.deepEqual(await smb.ask("lock", "one", 0, 10), { done: true });
    await assert.rejects(file.uploadRange("x", 0, 1), { code: "SharingViolation" });
    await withPage(async (page) => {
      await goTo(page, "concurrency", "holders");
      const row = page.getByRole("row", { name: /report\.txt/ });
      await row.getByText("read, write").waitFor();
      await row.getByText("0–9, exclusive").waitFor();
      await row.getByText(/127\.0\.0\.1:/).waitFor();
      await screenshot(page, "concurrency-smb");
      await row.getByRole("button", { name: /Put Range by/ }).click();
      await page.getByRole("heading", { name: "Won: Smb Open" }).waitFor();
      await page.getByText(/opened it at .* was in the way/).waitFor();
      await goTo(page, "data", "file", share.name);
      await menu(page, "More about this share", "Open handles…");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("report.txt").waitFor();
      await dialog.getByRole("button", { name: "Close…", exact: true }).click();
      await confirm(page, "Close by force");
      await until(async () => (await file.uploadRange("x", 0, 1).catch(() => undefined)) !== undefined, "the write that was kept out");
    });
  } finally {
    smb.end();
  }
});

test("versions are listed, looked at and made current again", async () => {
  await withPage(async (page) => {
    await goTo(page, "server", "accounts");
    await becomeOperator(page);
    const own = page.locator("section", { hasText: ACCOUNT });
    const set = async (value) => {
      await goTo(page, "server", "accounts");
      await own.getByLabel("Value of versioning").fill(value);
      await own.getByRole("button", { name: "Set…" }).click();
      await confirm(page, "Set");
      await own.getByRole("button", { name: "Set…" }).waitFor({ state: "detached" });
    };
    await set("on");
    try {
      const client = await container({ "letter.txt": "first" });
      const blob = client.getBlockBlobClient("letter.txt");
      await blob.upload("second", 6);
      await goTo(page, "data", "blob", client.containerName);
      await page.getByRole("row", { name: /letter\.txt/ }).click();
      await tab(page, "Versions");
      await detail(page).getByRole("row", { name: /version/ }).first().waitFor();
      await screenshot(page, "data-versions");
      await detail(page).getByRole("row", { name: /version/ }).getByRole("button", { name: "Restore" }).first().click();
      await confirm(page, "Restore");
      await until(async () => (await text(blob)) === "first", "the old version");
    } finally {
      await set("off");
    }
  });
});

test("queues: put, peek, take, keep, give back, delete, clear, in flight", async () => {
  const queue = queues.getQueueClient(unique("jobs"));
  await queue.create();
  await withPage(async (page) => {
    await goTo(page, "data", "queue", queue.name);
    const put = async (text) => {
      await page.getByRole("button", { name: "Put a message…" }).click();
      await page.getByRole("dialog").getByLabel("Text", { exact: true }).fill(text);
      await page.getByRole("dialog").getByRole("button", { name: "Put", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await put('{"feed":"tom"}');
    await put("two <two> & two");
    await page.getByRole("button", { name: "two <two> & two" }).waitFor();
    assert.deepEqual((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.map((one) => one.messageText), ['{"feed":"tom"}', "two <two> & two"]);
    await page.getByRole("button", { name: "Take…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take", exact: true }).click();
    await page.getByRole("tab", { name: "Taken here (1)" }).waitFor();
    assert.equal((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.length, 1);
    await tab(page, "In flight");
    await page.getByRole("cell", { name: /1 time/ }).waitFor();
    await screenshot(page, "data-queue");
    await page.getByRole("tab", { name: /Taken here/ }).click();
    await page.getByRole("button", { name: "Keep 60 s" }).click();
    await note(page, "Kept for another minute.");
    await page.getByRole("button", { name: "Give back" }).click();
    await until(async () => (await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.length === 2, "the message that was given back");
    await page.getByRole("button", { name: "Take…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take", exact: true }).click();
    await page.getByRole("tab", { name: "Taken here (1)" }).waitFor();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await until(async () => (await queue.getProperties()).approximateMessagesCount === 1, "the deleted message");
    await menu(page, "More about this queue", "Clear…");
    await confirm(page, "Clear the queue", queue.name);
    await until(async () => (await queue.getProperties()).approximateMessagesCount === 0, "the empty queue");
    await menu(page, "More about this queue", "Delete the queue…");
    await confirm(page, "Delete the queue", queue.name);
    await until(async () => !(await queue.exists()), "the end of the queue");
  });
});

test("tables: grid, filter, edits with ETags, transactions, import and export", async () => {
  const name = unique("cats").replace("-", "");
  await tables.createTable(name);
  const client = tableClient(name);
  writeFileSync(join(folder, "cats.csv"), 'PartitionKey,RowKey,lives:Int32,name\r\ngrey,tom,9,"Tom, the ""cat"""\r\ngrey,kit,7,Kit\r\nred,fox,1,Fox\r\n');
  await withPage(async (page) => {
    await goTo(page, "data", "table", name);
    await page.getByText("The table is empty.").waitFor();
    await page.getByLabel("File to import").setInputFiles(join(folder, "cats.csv"));
    await confirm(page, "Import");
    await page.getByRole("row", { name: /tom/ }).waitFor();
    assert.equal((await client.getEntity("grey", "tom")).name, 'Tom, the "cat"');
    assert.equal((await client.getEntity("grey", "tom")).lives, 9);
    await page.getByRole("button", { name: "New entity…" }).click();
    await page.getByLabel("PartitionKey").fill("white");
    await page.getByLabel("RowKey").fill("o'malley 1");
    await page.getByRole("button", { name: "+ Add property" }).click();
    await page.getByLabel("Name of property 1").fill("lives");
    await page.getByLabel("Type of lives").selectOption("Int64");
    await page.getByLabel("Value of lives").fill("9007199254740993");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal((await client.getEntity("white", "o'malley 1")).lives, 9007199254740993n);
    await page.getByLabel("$filter").fill("PartitionKey eq 'grey' and lives gt 8");
    await page.getByRole("button", { name: "Query" }).click();
    await page.getByText("1 entity").waitFor();
    await page.getByRole("row", { name: /tom/ }).click();
    await page.getByLabel("Value of lives").fill("8");
    // Somebody else is faster.
    await client.upsertEntity({ partitionKey: "grey", rowKey: "tom", lives: 3 }, "Replace");
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    await page.getByText("Somebody changed this after you read it.").first().waitFor();
    assert.equal((await client.getEntity("grey", "tom")).lives, 3);
    await page.keyboard.press("Escape");
    await page.getByLabel("$filter").fill("");
    await page.getByRole("button", { name: "Query" }).click();
    await page.getByText("4 entities").waitFor();
    await screenshot(page, "data-table");
    await page.getByRole("row", { name: /kit/ }).click();
    await page.getByLabel("Value of lives").fill("6");
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    await until(async () => (await client.getEntity("grey", "kit")).lives === 6, "the replaced entity");
    await page.locator('summary[title="More about this table"]').click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as JSON" }).click()]);
    const exported = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.equal(exported.length, 4);
    assert.equal(exported.find((one) => one.RowKey === "kit").lives, 6);
    for (const row of [/tom/, /kit/, /fox/]) await page.getByRole("row", { name: row }).getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByText("2 transactions").waitFor();
    await confirm(page, "Delete");
    await until(async () => (await client.listEntities().next()).value?.rowKey === "o'malley 1", "what is left");
    await menu(page, "More about this table", "Delete the table…");
    await confirm(page, "Delete the table", name);
  });
});
