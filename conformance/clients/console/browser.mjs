// A browser on the console. Held true for every test: no error in the browser's console, nothing that its content security policy refuses, and no request to any other
// origin; a test that sees one of these fails, whatever else it found.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(join(process.env.CONSOLE_MODULES, "x"));
const { chromium } = require("playwright-core");

export const CONSOLE = process.env.CONSOLE;
export const OPERATOR = process.env.OPERATOR;
export const ACCOUNT = "devstoreaccount1";
export const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const SCREENS = process.env.SCREENSHOTS ?? join(tmpdir(), "lazuli-console");
mkdirSync(SCREENS, { recursive: true });

/** As root in a closed network: no sandbox, and none of the browser's own traffic. */
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage",
];

let browser;

export async function open() {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Answers that a test means to get: the browser writes each 4xx to its console. */
const EXPECTED = /Failed to load resource: the server responded with a status of (401|403|404|409|412|416|503)/;

/** Runs `body` with a page; then says what the browser complained about. */
export async function withPage(body, options = {}) {
  const { signedIn = true, account = ACCOUNT, allow, ...context } = options;
  const tab = await (await open()).newContext({ viewport: { width: 1360, height: 860 }, acceptDownloads: true, ...context });
  const page = await tab.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE_MS ?? 15_000));
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !EXPECTED.test(message.text()) && !allow?.test(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error.stack ?? error)));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== new URL(CONSOLE).origin) complaints.push(`a request to ${url.origin}`);
    if (/sig=|AccountKey|key=/i.test(url.search + url.hash)) complaints.push(`a secret in the address ${url.pathname}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
  });
  try {
    if (signedIn) await signIn(page, account);
    await body(page, tab);
  } catch (error) {
    await page.screenshot({ path: join(SCREENS, "failed.png") }).catch(() => {});
    const shown = await page.locator(".notes, .trouble, .wrong").allInnerTexts().catch(() => []);
    const said = `The page said: ${JSON.stringify(shown)}; the browser: ${JSON.stringify(complaints)}`;
    throw new Error(`${error.message}\n${said}\n${error.stack}`);
  } finally {
    await tab.close();
  }
  assert.deepEqual(complaints, [], "the browser complained");
}

export async function signIn(page, account = ACCOUNT) {
  await page.goto(CONSOLE + "/");
  await page.getByLabel("Account", { exact: true }).fill(account);
  await page.locator("input[name=secret]").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "What the account holds" }).waitFor();
}

export async function becomeOperator(page) {
  await page.locator("summary", { hasText: ACCOUNT }).click();
  await page.getByRole("button", { name: "Become operator…" }).click();
  await page.getByLabel("Operator’s token").fill(OPERATOR);
  await page.getByRole("dialog").getByRole("button", { name: "Become operator" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

export const goTo = (page, ...segments) => page.evaluate((to) => void (location.hash = to), "#/" + segments.map(encodeURIComponent).join("/"));

export const screenshot = (page, name) => page.screenshot({ path: join(SCREENS, `${name}.png`) });

/** Waits until `look` answers what is wanted. */
export async function until(look, what = "what was waited for") {
  let seen;
  for (let turn = 0; turn < 100; turn++) {
    seen = await look();
    if (seen) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${what} did not come: ${JSON.stringify(seen)}`);
}

/** Says yes to the dialog that asks, typing the name where it wants it. */
export async function confirm(page, action, word) {
  const dialog = page.getByRole("dialog").last();
  const button = dialog.getByRole("button", { name: action, exact: true });
  if (word) {
    assert.ok(await button.isDisabled(), "a dangerous act was possible before its name was typed");
    await dialog.getByLabel(`Type ${word} to confirm`).fill(word);
  }
  await button.click();
}

export const note = (page, text) => page.locator(".notes").getByText(text).first().waitFor();

/** What is open beside a list. */
export const detail = (page) => page.locator("aside.detail");

export const tab = (page, name) => page.getByRole("tab", { name, exact: true }).click();

export async function menu(page, title, choice) {
  await page.locator(`summary[title="${title}"]`).first().click();
  await page.locator("details[open]").getByRole("button", { name: choice, exact: true }).click();
}
