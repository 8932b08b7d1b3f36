// server: --lab
// File systems in the console: directories, renames and access control are driven as a person would, and the Data Lake SDK says what the server then holds.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { close, confirm, detail, goTo, menu, screenshot, tab, until, withPage } from "./console/browser.mjs";
import { CONNECTION_STRING, folder, unique } from "./console/store.mjs";

const require = createRequire(process.env.MODULES + "/");
const { DataLakeServiceClient, StorageSharedKeyCredential } = require("@azure/storage-file-datalake");

const LAKE = "devstorelake1";
const part = (name) => new RegExp(`${name}=([^;]+)`).exec(CONNECTION_STRING)[1];
const service = new DataLakeServiceClient(part("BlobEndpoint").replace(/[^/]*$/, LAKE), new StorageSharedKeyCredential(LAKE, part("AccountKey")), { retryOptions: { maxTries: 1 } });
const READER = "11111111-2222-3333-4444-555555555555";

after(close);

const newSystem = async () => {
  const system = service.getFileSystemClient(unique("lake"));
  await system.create();
  return system;
};
const upload = async (system, path, text) => {
  const file = system.getFileClient(path);
  await file.create();
  await file.append(text, 0, text.length);
  await file.flush(text.length);
};
const select = (page, name) => page.getByRole("row", { name }).getByRole("checkbox").click();

test("a file system is made, and its directories and files", async () => {
  const name = unique("made");
  writeFileSync(join(folder, "leaf.txt"), "green");
  await withPage(
    async (page) => {
      await page.getByRole("heading", { name: /File systems/ }).waitFor();
      await page.getByRole("button", { name: "New file system" }).click();
      await page.getByRole("dialog").getByRole("textbox", { name: /^Name/ }).fill(name);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("Nothing is here yet.").waitFor();
      const system = service.getFileSystemClient(name);
      assert.ok(await system.exists());
      await page.getByRole("button", { name: "New directory…" }).click();
      await page.getByRole("dialog").getByLabel(/^Name/).fill("trees");
      await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
      await page.getByRole("row", { name: /trees/ }).click();
      await page.getByText("Nothing is here yet.").waitFor();
      await page.getByLabel("Files to upload").setInputFiles(join(folder, "leaf.txt"));
      await page.getByRole("row", { name: /leaf\.txt/ }).click();
      await detail(page).getByRole("heading", { name: "leaf.txt" }).waitFor();
      await tab(page, "Preview");
      await detail(page).getByText("green").waitFor();
      assert.equal((await system.getFileClient("trees/leaf.txt").readToBuffer()).toString(), "green");
      // The same name again is refused, and nothing is replaced.
      await goTo(page, "data", "lake", name);
      await page.getByRole("button", { name: "New directory…" }).click();
      await page.getByRole("dialog").getByLabel(/^Name/).fill("trees");
      await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
      await page.getByRole("dialog").getByRole("alert").waitFor();
      await page.keyboard.press("Escape");
      assert.ok(await system.getFileClient("trees/leaf.txt").exists());
      await menu(page, "More about this file system", "Delete the file system…");
      await confirm(page, "Delete the file system", name);
      await until(async () => !(await system.exists()), "the end of the file system");
    },
    { account: LAKE },
  );
});

test("a directory is renamed with all that is in it, moved to another file system, and deleted", async () => {
  const [system, other] = [await newSystem(), await newSystem()];
  await system.getDirectoryClient("old").create();
  await upload(system, "old/deep.txt", "deep");
  await withPage(
    async (page) => {
      await goTo(page, "data", "lake", system.name);
      await select(page, /old/);
      await page.getByRole("button", { name: "Rename…" }).click();
      await page.getByRole("dialog").getByLabel(/^Path/).fill("new");
      await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
      await page.getByRole("row", { name: /new/ }).waitFor();
      assert.equal((await system.getFileClient("new/deep.txt").readToBuffer()).toString(), "deep");
      assert.ok(!(await system.getDirectoryClient("old").exists()));
      // Nothing is replaced by a rename.
      await system.getDirectoryClient("taken").create();
      await select(page, /new/);
      await page.getByRole("button", { name: "Rename…" }).click();
      await page.getByRole("dialog").getByLabel(/^Path/).fill("taken");
      await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
      await page.getByRole("dialog").getByRole("alert").waitFor();
      assert.ok(await system.getFileClient("new/deep.txt").exists());
      await page.getByRole("dialog").getByLabel(/^Path/).fill("moved");
      await page.getByRole("dialog").getByLabel(/^File system/).fill(other.name);
      await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
      await until(async () => other.getFileClient("moved/deep.txt").exists(), "the moved directory");
      assert.ok(!(await system.getDirectoryClient("new").exists()));
      await goTo(page, "data", "lake", other.name);
      await select(page, /moved/);
      await page.getByRole("button", { name: "Delete…" }).click();
      await confirm(page, "Delete", other.name);
      await until(async () => !(await other.getDirectoryClient("moved").exists()), "the end of the directory");
    },
    { account: LAKE },
  );
});

test("access control lists are shown, edited with their ETag, and applied to everything below", async () => {
  const system = await newSystem();
  await system.getDirectoryClient("reports").create();
  await upload(system, "reports/q1.csv", "1,2");
  const rights = async (path) => (await system.getFileClient(path).getAccessControl()).acl;
  const named = (acl) => acl.find((one) => one.entityId === READER && !one.defaultScope);
  await withPage(
    async (page) => {
      await goTo(page, "data", "lake", system.name);
      await select(page, /reports/);
      await page.getByRole("button", { name: "Access…" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("the owner: read", { exact: true }).waitFor();
      await dialog.getByLabel("Object id of the new entry", { exact: true }).fill(READER);
      await dialog.getByLabel("Add the entry", { exact: true }).click();
      await dialog.getByLabel(`user ${READER}: write`, { exact: true }).check();
      await dialog.getByLabel("everybody else: read", { exact: true }).setChecked(false);
      await dialog.getByLabel("Default: Object id of the new entry").fill(READER);
      await dialog.getByLabel("Default: Add the entry").click();
      await screenshot(page, "data-lake");
      await dialog.getByRole("button", { name: "Save" }).click();
      const acl = await until(async () => (named(await rights("reports")) ? rights("reports") : undefined), "the saved list");
      assert.deepEqual(named(acl).permissions, { read: true, write: true, execute: true });
      assert.ok(acl.some((one) => one.entityId === READER && one.defaultScope), "what is made below inherits");
      assert.ok(!acl.find((one) => one.accessControlType === "other" && !one.defaultScope).permissions.read);
      assert.ok(!named(await rights("reports/q1.csv")), "only the directory was changed");
      // Somebody else is faster: nothing is written over that.
      await dialog.getByLabel("everybody else: write", { exact: true }).waitFor();
      await until(async () => dialog.getByRole("button", { name: "Save" }).isDisabled(), "the list as it was saved");
      await system.getDirectoryClient("reports").setMetadata({ faster: "yes" });
      await dialog.getByLabel("everybody else: write", { exact: true }).check();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").waitFor();
      assert.ok(!(await rights("reports")).find((one) => one.accessControlType === "other" && !one.defaultScope).permissions.write);
      await dialog.getByLabel("everybody else: write", { exact: true }).setChecked(false);
      await dialog.getByLabel("Default: Remove user " + READER).click();
      await dialog.getByRole("button", { name: "Do so for everything below" }).click();
      await until(async () => named(await rights("reports/q1.csv")), "the list of the file below");
    },
    { account: LAKE },
  );
});
