// SAS: made by the server with the session's key, and taken apart again, with the reason why one would be refused.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import { Dialog } from "../../ui/dialog";
import { Trouble } from "../../ui/notes";
import { Badge, Copyable, Facts } from "../../ui/parts";
import { BackToList } from "../data";
import { accountOf } from "../session";
import type { Signed } from "../session";

export type SasService = "blob" | "queue" | "table" | "file";

export interface SasTarget {
  service: SasService;
  container?: string;
  name?: string;
}

const RIGHTS: Record<string, readonly [string, string][]> = {
  blob: [["r", "read"], ["a", "add"], ["c", "create"], ["w", "write"], ["d", "delete"], ["x", "delete a version"], ["l", "list"], ["t", "tags"], ["f", "find"], ["m", "move"], ["e", "execute"], ["i", "immutability"]],
  queue: [["r", "peek"], ["a", "add"], ["u", "update"], ["p", "process"]],
  table: [["r", "read"], ["a", "add"], ["u", "update"], ["d", "delete"]],
  file: [["r", "read"], ["c", "create"], ["w", "write"], ["d", "delete"], ["l", "list"]],
  account: [["r", "read"], ["w", "write"], ["d", "delete"], ["l", "list"], ["a", "add"], ["c", "create"], ["u", "update"], ["p", "process"], ["t", "tags"], ["f", "find"], ["x", "delete a version"], ["y", "delete for ever"], ["i", "immutability"]],
};

const local = (at: Date): string => new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
const utc = (text: string): string | null => (text ? new Date(text).toISOString().replace(/\.\d+Z$/, "Z") : null);

function SasForm({ now, target }: { now: Signed; target: SasTarget | "account" }) {
  const [permissions, setPermissions] = useState(target !== "account" && target.service === "queue" ? "p" : "r");
  const [start, setStart] = useState("");
  const [expiry, setExpiry] = useState(local(new Date(Date.parse(now.server.now) + 3600_000)));
  const [ip, setIp] = useState("");
  const [policy, setPolicy] = useState("");
  const [httpsOnly, setHttpsOnly] = useState(false);
  const [services, setServices] = useState("bqtf");
  const [types, setTypes] = useState("sco");
  const [made, setMade] = useState<{ sas: string; url: string }>();
  const [error, setError] = useState<unknown>();
  if (now.session.kind !== "key") {
    return <p>A SAS is signed with the account’s key. Sign in with the key to make one; what others gave you can be taken apart below.</p>;
  }
  const rights = RIGHTS[target === "account" ? "account" : target.service]!;
  // Letters in the order that the service wants them.
  const order = "rwdxylacuptfmeoi";
  const toggle = (letter: string) => {
    const all = rights.map(([one]) => one).filter((one) => (one === letter) !== permissions.includes(one));
    const wanted = target === "account" ? [...order] : rights.map(([one]) => one);
    setPermissions(wanted.filter((one) => all.includes(one)).join(""));
  };
  const make = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    const common = { permissions, start: utc(start), expiry: utc(expiry), ip: ip || null, protocol: httpsOnly ? "https" : null };
    try {
      setMade(
        await api.makeSas(
          target === "account"
            ? { account: true, services, resource_types: types, ...common }
            : { service: target.service, container: target.container, name: target.name ?? null, policy: policy || null, directory: false, ...common },
        ),
      );
    } catch (why) {
      setError(why);
      setMade(undefined);
    }
  };
  const letters = (all: readonly [string, string][], chosen: string, set: (next: string) => void) => (
    <div class="actions">
      {all.map(([letter, name]) => (
        <label class="check" key={letter}>
          <input type="checkbox" checked={chosen.includes(letter)} onChange={() => set(letter)} /> {name}
        </label>
      ))}
    </div>
  );
  const flip = (chosen: string, set: (next: string) => void, all: string) => (letter: string) => set([...all].filter((one) => chosen.includes(one) !== (one === letter)).join(""));
  return (
    <form onSubmit={make}>
      {target === "account" && (
        <>
          <h3>Services</h3>
          {letters([["b", "blobs"], ["q", "queues"], ["t", "tables"], ["f", "files"]], services, flip(services, setServices, "bqtf"))}
          <h3>On</h3>
          {letters([["s", "the service"], ["c", "containers, queues, tables, shares"], ["o", "what is in them"]], types, flip(types, setTypes, "sco"))}
        </>
      )}
      <h3>May</h3>
      {letters(rights, permissions, toggle)}
      <div class="two">
        <label>
          From
          <input type="datetime-local" value={start} onInput={(event) => setStart(event.currentTarget.value)} />
        </label>
        <label>
          Until
          <input type="datetime-local" value={expiry} required={!policy} onInput={(event) => setExpiry(event.currentTarget.value)} />
        </label>
        <label>
          Only from address
          <input value={ip} placeholder="10.0.0.1 or 10.0.0.1-10.0.0.9" onInput={(event) => setIp(event.currentTarget.value)} />
        </label>
        {target !== "account" && (
          <label>
            Stored policy
            <input value={policy} placeholder="its name, if there is one" onInput={(event) => setPolicy(event.currentTarget.value)} />
          </label>
        )}
      </div>
      <label class="check">
        <input type="checkbox" checked={httpsOnly} onChange={(event) => setHttpsOnly(event.currentTarget.checked)} /> HTTPS only
      </label>
      {error !== undefined && <Trouble error={error} />}
      <div class="actions">
        <button class="main" disabled={!permissions && !policy}>
          Make a SAS
        </button>
      </div>
      {made && (
        <div class="right">
          <p>
            <strong>Who has this has the rights above.</strong> It cannot be taken back but by changing the account’s key or the stored policy.
          </p>
          <p>
            <Copyable text={made.url} label="URL with SAS" />
          </p>
        </div>
      )}
    </form>
  );
}

export function SasDialog({ now, target, onClose }: { now: Signed; target: SasTarget; onClose: () => void }) {
  return (
    <Dialog title={`SAS for ${target.name ?? target.container}`} onClose={onClose}>
      <SasForm now={now} target={target} />
    </Dialog>
  );
}

const FIELDS: Record<string, string> = {
  sv: "Version", sr: "Resource", sp: "May", st: "From", se: "Until", spr: "Protocol", sip: "Only from address", ss: "Services", srt: "On", si: "Stored policy", tn: "Table",
  spk: "From partition", srk: "From row", epk: "To partition", erk: "To row", skoid: "Delegated by (object id)", sktid: "Tenant", skt: "Key from", ske: "Key until", sks: "Key service",
  skv: "Key version", saoid: "Authorised user", suoid: "User", scid: "Correlation id", sdd: "Directory depth", ses: "Encryption scope",
};

const VALUES: Record<string, Record<string, string>> = {
  sr: { b: "a blob", c: "a container", bs: "a snapshot", bv: "a version", d: "a directory", f: "a file", s: "a share" },
};

export function SasTool({ now }: { now: Signed }) {
  const [url, setUrl] = useState("");
  const [method, setMethod] = useState("GET");
  const [found, setFound] = useState<Awaited<ReturnType<typeof api.checkSas>>>();
  const [error, setError] = useState<unknown>();
  const check = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    const text = url.trim();
    const whole = text.includes("://") ? text : `${now.server.endpoints.blob}/${accountOf(now)}?${text.replace(/^\?/, "")}`;
    try {
      setFound(await api.checkSas(whole, method));
    } catch (why) {
      setFound(undefined);
      setError(why);
    }
  };
  return (
    <div class="content padded">
      <div class="actions">
        <BackToList />
        <h2>SAS maker and decoder</h2>
      </div>
      <div class="cards roomy">
        <section class="card">
          <h2>Would it be accepted?</h2>
          <form onSubmit={check}>
            <label>
              A URL with a SAS
              <textarea value={url} spellcheck={false} autocomplete="off" onInput={(event) => setUrl(event.currentTarget.value)} />
              <span class="fine">It goes to this server and nowhere else, and is not kept.</span>
            </label>
            <label>
              For
              <select aria-label="For" value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
                <option value="GET">reading (GET)</option>
                <option value="PUT">writing (PUT)</option>
                <option value="DELETE">deleting (DELETE)</option>
              </select>
            </label>
            <div class="actions">
              <button class="main" disabled={!url.trim()}>
                Check
              </button>
            </div>
          </form>
          {error !== undefined && <Trouble error={error} />}
          {found && (
            <>
              {found.accepted ? (
                <p class="right">
                  <strong>It would be accepted.</strong>
                </p>
              ) : (
                <p class="wrong">
                  <strong>It would be refused</strong> <Badge tone="bad">{found.code}</Badge>
                  <br />
                  {found.reason}
                </p>
              )}
              <Facts facts={Object.entries(found.fields).map(([key, value]) => [FIELDS[key] ?? key, said(key, value)])} />
            </>
          )}
        </section>
        <section class="card">
          <h2>A SAS for the account</h2>
          <SasForm now={now} target="account" />
        </section>
      </div>
      <p class="fine">For one container, blob, queue, table, share or file: open it, then “Make a SAS” in its menu.</p>
    </div>
  );
}

function said(key: string, value: string): string {
  const meaning = VALUES[key]?.[value];
  if (meaning) return `${value}: ${meaning}`;
  if (key === "sp") return [...value].map((letter) => [...RIGHTS.account!, ...RIGHTS.blob!].find(([one]) => one === letter)?.[1] ?? letter).join(", ");
  return value;
}
