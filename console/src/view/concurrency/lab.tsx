// The lab: rules that make trouble on purpose, the clock, and reset. Only where the server runs with --lab, and only for the operator.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import type { Lab, Rule } from "../../api/server";
import { danger, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { bad, Empty, good, Trouble } from "../../ui/notes";
import { count, plural, seconds, time } from "../../ui/say";
import { useEvery } from "../../ui/store";
import { noteChange } from "../data/side";
import { accountOf, refreshServer } from "../session";
import type { Signed } from "../session";

type Param = "status" | "apply" | "milliseconds" | "bytes" | "requests_per_second" | "bytes_per_second";

const DEEDS: Record<string, { title: string; says: string; uses: Param[] }> = {
  "lose-race": { title: "Lose a race", says: "Another client’s change really happens first; the conditional request is then refused by its own condition.", uses: [] },
  "break-lease": { title: "Break a lease", says: "The lease that the request names is really broken first.", uses: [] },
  "expire-lease": { title: "Let a lease run out", says: "The lease that the request names has run out first.", uses: [] },
  "deliver-twice": { title: "Deliver twice", says: "Messages that are taken stay visible: the next worker takes them, too.", uses: [] },
  "hold-copy": { title: "Hold a copy", says: "A copy stays pending until the rule ends.", uses: [] },
  fail: { title: "Fail", says: "503 or 500, before the change is made or after.", uses: ["status", "apply"] },
  disconnect: { title: "Drop the connection", says: "No answer comes: before the change, or after it was made.", uses: ["apply"] },
  slow: { title: "Answer slowly", says: "The answer comes that much later.", uses: ["milliseconds"] },
  truncate: { title: "Cut the answer off", says: "The body ends early, and the connection with it.", uses: ["bytes"] },
  throttle: { title: "Throttle", says: "What is beyond the rates gets 503 ServerBusy.", uses: ["requests_per_second", "bytes_per_second"] },
  lag: { title: "Let the secondary lag", says: "On the secondary, recent changes are not there yet.", uses: ["milliseconds"] },
};

export function LabView({ now }: { now: Signed }) {
  const [lab, setLab] = useState<Lab>();
  const [error, setError] = useState<unknown>();
  const [dialog, show] = useDialog();
  const may = now.server.lab && now.session.operator;
  const load = async () => {
    if (!may) return;
    try {
      setLab(await api.lab());
      setError(undefined);
    } catch (why) {
      setError(why);
    }
  };
  useEvery(2000, load, [may]);
  if (!now.server.lab) {
    return (
      <div class="card">
        <h2>The lab is off</h2>
        <p>With the lab a test suite can make trouble on purpose: a race that is lost, a lease that breaks, an answer that never comes, a clock that jumps. It is for development only, and has to be asked for:</p>
        <p>
          <code>lazuli --lab</code>
        </p>
      </div>
    );
  }
  if (!now.session.operator) {
    return (
      <div class="card">
        <h2>The lab is the operator’s</h2>
        <p>No credential of an account opens the lab. Choose “Become operator” in the menu at the top right.</p>
      </div>
    );
  }
  const run = async (act: () => Promise<unknown>, said: string) => {
    try {
      await act();
      good(said);
    } catch (why) {
      bad(why);
    }
    await load();
  };
  return (
    <>
      <div class="loud" role="note">
        <strong>This server makes trouble on purpose.</strong> Rules act on every client that fits, the clock moves for all, and reset empties accounts. {lab && `Rules have acted ${plural(lab.fired, "time")}.`}
      </div>
      {error !== undefined && <Trouble error={error} retry={load} />}
      <div class="cards">
        <section class="card wide">
          <h2>
            Rules
            <span class="actions">
              <button class="main" onClick={() => show((close) => <RuleDialog now={now} onClose={close} onDone={load} />)}>
                New rule…
              </button>
              <button disabled={!lab?.rules.length} onClick={() => run(api.removeRules, "Removed all rules.")}>
                Remove all
              </button>
            </span>
          </h2>
          {lab && lab.rules.length === 0 && <Empty>No rule is set: requests run as they always do.</Empty>}
          {lab && lab.rules.length > 0 && (
            <table class="lines">
              <thead>
                <tr>
                  <th>What</th>
                  <th>Which requests</th>
                  <th>How</th>
                  <th>Acted</th>
                  <th>Left</th>
                  <th>
                    <span class="fine">Remove</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {lab.rules.map((rule) => (
                  <tr key={rule.id}>
                    <td>
                      <strong>{DEEDS[rule.do]?.title ?? rule.do}</strong> <span class="fine">{rule.note}</span>
                    </td>
                    <td class="wrap">{fits(rule)}</td>
                    <td class="wrap">{how(rule)}</td>
                    <td>{plural(rule.fired, "time")}</td>
                    <td>{rule.left === null || rule.left === undefined ? "no limit" : count(rule.left)}</td>
                    <td>
                      <button class="bare" aria-label={`Remove rule ${rule.id}`} onClick={() => run(() => api.removeRule(rule.id), "Removed the rule.")}>
                        <Icon name="close" />
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </section>
        <section class="card">
          <h2>Clock</h2>
          <div class="big">{lab ? time(lab.clock.now) : "…"}</div>
          <p class="fine">{lab && lab.clock.moved_seconds > 0 ? `moved forward by ${seconds(lab.clock.moved_seconds)} in all` : "as the machine’s"}</p>
          <Clock onAdvance={(by) => run(async () => (await api.advance(by), await refreshServer()), `The clock is ${seconds(by)} further.`)} />
        </section>
        <section class="card">
          <h2>Reset</h2>
          <p>Empties accounts at once, for the next test. Keys and settings stay; rules end; the record is emptied.</p>
          <div class="actions">
            {accountOf(now) && (
              <button class="warn" onClick={() => resetDialog(accountOf(now))}>
                Empty {accountOf(now)}…
              </button>
            )}
            <button class="warn" onClick={() => resetDialog()}>
              Empty all accounts…
            </button>
          </div>
        </section>
      </div>
      {dialog}
    </>
  );
}

function fits(rule: Rule): string {
  const where = [rule.account, rule.container, rule.prefix && `${rule.prefix}…`].filter(Boolean).join("/");
  return [rule.operation ?? "every operation", where && `on ${where}`, rule.probability != null && rule.probability < 1 && `${Math.round(rule.probability * 100)} % of them`].filter(Boolean).join(", ");
}

function how(rule: Rule): string {
  const parts = [
    rule.status && String(rule.status),
    rule.apply && "after the change was made",
    rule.milliseconds && `${rule.milliseconds} ms`,
    rule.bytes != null && rule.do === "truncate" && `after ${rule.bytes} bytes`,
    rule.requests_per_second && `${rule.requests_per_second} requests/s`,
    rule.bytes_per_second && `${rule.bytes_per_second} bytes/s`,
    rule.seconds && `for ${seconds(rule.seconds)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

function Clock({ onAdvance }: { onAdvance: (seconds: number) => void }) {
  const [by, setBy] = useState("61");
  const quick: [string, number][] = [["1 min", 60], ["1 hour", 3600], ["1 day", 86400], ["8 days", 8 * 86400]];
  return (
    <>
      <p class="fine">It only goes forward, and a data directory remembers it. Leases, SAS, messages and what was deleted age at once.</p>
      <form class="actions" onSubmit={(event) => (event.preventDefault(), onAdvance(Number(by)))}>
        <input type="number" min="0" step="any" aria-label="Seconds to advance" style={{ width: "110px" }} value={by} onInput={(event) => setBy(event.currentTarget.value)} />
        <button class="main" disabled={!(Number(by) > 0)}>
          Advance seconds
        </button>
        {quick.map(([name, value]) => (
          <button type="button" key={name} onClick={() => onAdvance(value)}>
            +{name}
          </button>
        ))}
      </form>
    </>
  );
}

function RuleDialog({ now, onClose, onDone }: { now: Signed; onClose: () => void; onDone: () => void }) {
  const [deed, setDeed] = useState("lose-race");
  const [fields, setFields] = useState<Record<string, string>>({ account: accountOf(now), count: "1", status: "503", milliseconds: "500", bytes: "100", requests_per_second: "10" });
  const [apply, setApply] = useState(false);
  const { says, uses } = DEEDS[deed]!;
  const text = (name: string, label: string, type: "text" | "number" = "text", hint = "") => (
    <label>
      {label}
      <input inputMode={type === "number" ? "decimal" : undefined} value={fields[name] ?? ""} placeholder={hint} onInput={(event) => setFields({ ...fields, [name]: event.currentTarget.value })} />
    </label>
  );
  const make = async () => {
    const rule: Record<string, unknown> = { do: deed };
    const words = ["operation", "account", "container", "prefix", "note"];
    const numbers = ["probability", "count", "seconds", ...uses.filter((one) => one !== "apply")];
    for (const name of words) if (fields[name]) rule[name] = fields[name];
    for (const name of numbers) if (fields[name]) rule[name] = Number(fields[name]);
    if (uses.includes("apply")) rule.apply = apply;
    await api.addRule(rule as Partial<Rule>);
    good("The rule is set.");
    onDone();
  };
  return (
    <FormDialog title="New rule" action="Set the rule" onClose={onClose} onSubmit={make} isWide>
      <label>
        What happens
        <select value={deed} onChange={(event) => setDeed(event.currentTarget.value)}>
          {Object.entries(DEEDS).map(([name, { title }]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        <span class="fine">{says}</span>
      </label>
      {uses.includes("status") && (
        <label>
          Answer
          <select value={fields.status} onChange={(event) => setFields({ ...fields, status: event.currentTarget.value })}>
            <option value="503">503 ServerBusy</option>
            <option value="500">500 InternalError</option>
          </select>
        </label>
      )}
      {uses.includes("apply") && (
        <label class="check">
          <input type="checkbox" checked={apply} onChange={(event) => setApply(event.currentTarget.checked)} /> After the change was made: the client cannot know
        </label>
      )}
      <div class="two">
        {uses.includes("milliseconds") && text("milliseconds", "Milliseconds", "number")}
        {uses.includes("bytes") && text("bytes", "After so many bytes", "number")}
        {uses.includes("requests_per_second") && text("requests_per_second", "Requests a second", "number")}
        {uses.includes("bytes_per_second") && text("bytes_per_second", "Bytes a second", "number", "no limit")}
        {text("operation", "Operation", "text", "every one; as in PutBlob")}
        {text("account", "Account", "text", "every one")}
        {text("container", "Container, queue, table or share", "text", "every one")}
        {text("prefix", "Names that begin with", "text", "all")}
        {text("probability", "Probability", "number", "1")}
        {text("count", "At most so many times", "number", "no limit")}
        {text("seconds", "For so many seconds", "number", "no limit")}
        {text("note", "Note", "text", "which test this is for")}
      </div>
    </FormDialog>
  );
}

function resetDialog(account?: string): void {
  danger({
    title: account ? `Empty ${account}?` : "Empty all accounts?",
    says: <p>Every container, queue, table and share of {account ?? "every account"} will be gone, with all that is in them. It cannot be undone.</p>,
    action: "Empty",
    word: account ?? "all accounts",
    run: async () => {
      const gone = await api.reset(account);
      noteChange();
      good(`Gone: ${plural(gone.containers, "container")}, ${plural(gone.queues, "queue")}, ${plural(gone.tables, "table")}, ${plural(gone.shares, "share")}.`);
    },
  });
}
