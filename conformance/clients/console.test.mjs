// server: --lab
// The console in a browser: who gets in, what clients do to each other, the lab, the server, and that the keyboard and a small screen are enough.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ACCOUNT, becomeOperator, close, confirm, CONSOLE, detail, goTo, KEY, menu, screenshot, signIn, tab, until, withPage } from "./console/browser.mjs";
import { CONNECTION_STRING, container } from "./console/store.mjs";

after(close);

test("a wrong key is refused, a right one lets in, and the session ends", async () => {
  await withPage(async (page, context) => {
    await page.goto(CONSOLE + "/");
    await screenshot(page, "login");
    await page.locator("input[name=secret]").fill(Buffer.from("wrong").toString("base64"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await signIn(page);
    const cookies = await context.cookies();
    assert.equal(cookies.length, 1);
    assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite], [true, "Strict"]);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.ok(!kept.includes(KEY.slice(0, 20)) && !kept.includes(cookies[0].value), "a secret is where scripts can read it");
    const stored = await page.request.get(CONSOLE + "/data/blob/?comp=list", { headers: { "sec-fetch-dest": "script" } });
    assert.equal(stored.status(), 403, "what is stored was served as a script");
    await page.reload();
    await page.getByRole("navigation", { name: "What the account holds" }).waitFor();
    await page.locator("summary", { hasText: ACCOUNT }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    const again = await page.request.get(CONSOLE + "/data/blob/?comp=list", { headers: { cookie: `${cookies[0].name}=${cookies[0].value}` } });
    assert.equal(again.status(), 401);
  }, { signedIn: false });
});

test("a connection string and a SAS sign in, too", async () => {
  const client = await container({ "a.txt": "hello" });
  await withPage(async (page) => {
    await page.goto(CONSOLE + "/");
    await page.locator("input[name=secret]").fill(CONNECTION_STRING);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "What the account holds" }).waitFor();
  }, { signedIn: false });
  const sas = await client.generateSasUrl({ permissions: { read: true, list: true, toString: () => "rl" }, expiresOn: new Date(Date.now() + 3600_000) });
  await withPage(async (page) => {
    await page.goto(CONSOLE + "/");
    await tab(page, "SAS");
    await page.locator("input[name=secret]").fill(sas);
    await page.getByRole("button", { name: "Sign in" }).click();
    await goTo(page, "data", "blob", client.containerName);
    await page.getByRole("row", { name: /a\.txt/ }).click();
    await detail(page).getByRole("heading", { name: "a.txt" }).waitFor();
    await menu(page, "More about this blob", "Take a snapshot");
    await page.locator(".note.bad").waitFor();
  }, { signedIn: false });
});

test("conflicts are shown as they happen, with who was faster", async () => {
  const client = await container({ "race.txt": "start" });
  const blob = client.getBlockBlobClient("race.txt");
  await withPage(async (page) => {
    await goTo(page, "concurrency", "live");
    await page.getByText("live", { exact: true }).waitFor();
    for (let turn = 0; turn < 3; turn++) {
      const { etag } = await blob.getProperties();
      const race = ["one", "two"].map((word) => blob.upload(word, 3, { conditions: { ifMatch: etag } }));
      const outcome = await Promise.allSettled(race);
      assert.equal(outcome.filter((one) => one.status === "fulfilled").length, 1);
    }
    const event = page.locator(".event", { hasText: "race.txt" }).first();
    await event.getByText("412 ConditionNotMet").waitFor();
    await page.locator("table", { hasText: "race.txt" }).getByText(/ConditionNotMet × [1-9]/).first().waitFor();
    await screenshot(page, "concurrency-live");
    await event.getByRole("button", { name: "Why?" }).click();
    await page.getByRole("heading", { name: "Won: Put Blob" }).waitFor();
    await page.getByRole("link", { name: "Timeline of the object" }).click();
    await page.locator(".step.refusal").first().waitFor();
    assert.ok((await page.locator(".step").count()) >= 7, "every change and refusal is in the timeline");
    await screenshot(page, "concurrency-timeline");
  });
});

test("the lab: rules, the clock and reset, for the operator alone", async () => {
  const client = await container({ "lab.txt": "calm" });
  const blob = client.getBlockBlobClient("lab.txt");
  await withPage(async (page) => {
    await goTo(page, "concurrency", "lab");
    await page.getByText("The lab is the operator’s").waitFor();
    await becomeOperator(page);
    await page.getByText("This server makes trouble on purpose.").waitFor();
    await page.getByRole("button", { name: "New rule…" }).click();
    await page.getByLabel("Container, queue, table or share").fill(client.containerName);
    await page.getByLabel("Operation", { exact: true }).fill("PutBlob");
    await page.getByLabel("At most so many times").fill("3");
    await page.getByLabel("Note").fill("retries of the uploader");
    await page.getByRole("button", { name: "Set the rule" }).click();
    await page.getByRole("row", { name: /Lose a race/ }).waitFor();
    const { etag } = await blob.getProperties();
    await assert.rejects(blob.upload("mine", 4, { conditions: { ifMatch: etag } }), { statusCode: 412 });
    await page.getByRole("row", { name: /Lose a race/ }).getByText("1 time").waitFor();
    await screenshot(page, "concurrency-lab");
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(60);
    await page.getByLabel("Seconds to advance").fill("61");
    await page.getByRole("button", { name: "Advance seconds" }).click();
    await until(async () => (await blob.getProperties()).leaseState === "expired", "the lease that ran out");
    await page.getByRole("button", { name: `Empty ${ACCOUNT}…` }).click();
    await confirm(page, "Empty", ACCOUNT);
    await until(async () => !(await client.exists()), "the empty account");
  });
});

test("the server: plots, health, settings and the log", async () => {
  const client = await container();
  await withPage(async (page) => {
    await goTo(page, "server", "numbers");
    await page.locator(".u-over").first().waitFor();
    for (let turn = 0; turn < 400; turn++) await client.getBlockBlobClient(`n${turn % 4}`).upload("x".repeat(turn * 10), turn * 10, { conditions: turn % 9 ? {} : { ifNoneMatch: "*" } }).catch(() => {});
    await page.getByRole("row", { name: /^PutBlob/ }).waitFor();
    await page.getByRole("img", { name: /Requests\. Now: all/ }).waitFor();
    await page.waitForTimeout(2500);
    await screenshot(page, "server-live");
    await goTo(page, "server", "health");
    await page.getByText("ready", { exact: true }).waitFor();
    await goTo(page, "server", "accounts");
    await page.getByText("For the operator").waitFor();
    await becomeOperator(page);
    const own = page.locator("section", { hasText: "devstoreaccount1" });
    await own.getByLabel("Value of versioning").fill("on");
    await own.getByRole("button", { name: "Set…" }).click();
    await confirm(page, "Set");
    await until(async () => (await client.getBlockBlobClient("v").upload("x", 1)).versionId, "versions");
    // The page has read the settings again.
    await own.getByRole("button", { name: "Set…" }).waitFor({ state: "detached" });
    await own.getByLabel("Value of versioning").fill("off");
    await own.getByRole("button", { name: "Set…" }).click();
    await confirm(page, "Set");
    await screenshot(page, "server-accounts");
    await goTo(page, "server", "log");
    await page.getByRole("log", { name: "Log" }).waitFor();
  });
});

test("the keyboard is enough, in the dark, on a small screen", async () => {
  const client = await container({ "a/one.txt": "1", "b.txt": "2" });
  await withPage(async (page) => {
    await goTo(page, "data", "blob", client.containerName);
    await page.getByRole("row", { name: /b\.txt/ }).waitFor();
    await page.locator(".rows .scroll").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await detail(page).getByRole("heading", { name: "b.txt" }).waitFor();
    await detail(page).getByText("1 B (1 bytes)").waitFor();
    const colour = await page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor);
    assert.notEqual(colour, "rgb(245, 246, 250)");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    await screenshot(page, "dark");
  }, { colorScheme: "dark" });
  await withPage(async (page) => {
    await page.getByLabel("Names that begin with").fill(client.containerName);
    await page.getByRole("link", { name: client.containerName }).click();
    await page.getByRole("row", { name: /b\.txt/ }).click();
    await detail(page).getByRole("heading", { name: "b.txt" }).waitFor();
    await detail(page).getByText("1 B (1 bytes)").waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `the page is ${width} pixels wide`);
    await screenshot(page, "phone");
  }, { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true });
});
