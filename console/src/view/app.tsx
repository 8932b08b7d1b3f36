// The frame of the page: who is signed in, the three places, and what is loud (the lab, a moved clock).
import { useEffect, useState } from "preact/hooks";
import { DangerDialog, FormDialog, useDialog } from "../ui/dialog";
import { Notes } from "../ui/notes";
import { Badge, Menu } from "../ui/parts";
import { hash, useRoute } from "../ui/route";
import { seconds } from "../ui/say";
import { useEvery, useStore } from "../ui/store";
import { Concurrency } from "./concurrency";
import { Data } from "./data";
import { Login } from "./login";
import { Server } from "./server";
import { accountOf, mayData, raise, refreshServer, resume, signed, signOut } from "./session";
import type { Signed } from "./session";
import { apply, setTheme, theme } from "./theme";
import type { Theme } from "./theme";

apply();

export function App() {
  const now = useStore(signed);
  useEffect(() => void resume(), []);
  if (now === undefined) return <p class="loading">Loading…</p>;
  return (
    <>
      {now ? <Frame now={now} /> : <Login />}
      <DangerDialog />
      <Notes />
    </>
  );
}

function Frame({ now }: { now: Signed }) {
  const route = useRoute();
  const place = PLACES.find(([name]) => name === route[0])?.[0] ?? (mayData(now) ? "data" : "server");
  const [dialog, open] = useDialog();
  useEvery(10_000, refreshServer);
  useEffect(() => {
    addEventListener("keydown", onSlash);
    return () => removeEventListener("keydown", onSlash);
  }, []);
  useEffect(() => {
    const title = place === "data" && route[2] ? route[2] : PLACES.find(([name]) => name === place)![1];
    document.title = `${title} · Lazuli`;
  }, [place, route.join("/")]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <header class="top">
        <a class="logo" href={hash("data")}>
          <img src="/console/icon.svg" alt="" width="24" height="24" />
          <span>Lazuli</span>
        </a>
        <nav aria-label="Places">
          {PLACES.map(([name, text]) => (
            <a key={name} href={hash(name)} aria-current={name === place ? "page" : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <span class="space" />
        {now.server.lab && <Badge tone="warn" title="This server makes trouble on purpose when a rule says so.">LAB</Badge>}
        {now.server.clock.moved_seconds > 0 && (
          <span class="moved">
            <Badge tone="warn" title="The clock of this server was moved.">clock +{seconds(now.server.clock.moved_seconds)}</Badge>
          </span>
        )}
        <Menu title="Account and session" label={<span class="who">{accountOf(now) || "operator"}</span>}>
          <p class="fine">
            Signed in with {KINDS[now.session.kind]}
            {now.session.operator && now.session.kind !== "operator" ? ", raised to operator" : ""}.
          </p>
          <ThemeChoice />
          {!now.session.operator && (
            <button onClick={() => open((close) => <Raise onClose={close} />)}>Become operator…</button>
          )}
          <button onClick={() => void signOut()}>Sign out</button>
        </Menu>
      </header>
      <main id="main" tabIndex={-1}>
        {place === "data" && <Data now={now} route={route.slice(1)} />}
        {place === "concurrency" && <Concurrency now={now} route={route.slice(1)} />}
        {place === "server" && <Server now={now} route={route.slice(1)} />}
      </main>
      {dialog}
    </div>
  );
}

/** A slash goes to the search field of what is shown. */
function onSlash(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const field = document.querySelector<HTMLInputElement>(".content input[type=search], #filter") ?? document.querySelector<HTMLInputElement>("input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
}

const PLACES = [
  ["data", "Data"],
  ["concurrency", "Concurrency"],
  ["server", "Server"],
] as const;

const KINDS = { key: "the account’s key", sas: "a SAS", token: "a token", operator: "the operator’s token" };

function ThemeChoice() {
  const [now, setNow] = useState(theme());
  const pick = (next: Theme) => (setTheme(next), setNow(next));
  return (
    <div class="theme" role="group" aria-label="Colours" onClick={(event) => event.stopPropagation()}>
      {(["system", "light", "dark"] as const).map((name) => (
        <button key={name} aria-pressed={now === name} onClick={() => pick(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}

function Raise({ onClose }: { onClose: () => void }) {
  const [token, setToken] = useState("");
  return (
    <FormDialog title="Become operator" action="Become operator" onClose={onClose} isReady={token !== ""} onSubmit={() => raise(token)}>
      <p>
        The operator sees the records of all accounts, the log and the settings, and may use the lab. The token is in <code>console.json</code> in the
        data directory, or what <code>--operator-token</code> says.
      </p>
      <label>
        Operator’s token
        <input type="password" autocomplete="off" value={token} autofocus onInput={(event) => setToken(event.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
