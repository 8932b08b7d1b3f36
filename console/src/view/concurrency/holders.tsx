// Who holds what now: leases with the time they have left and those they kept out, messages in flight, and what is open over SMB.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import type { InFlight, LiveLease, Open, Rec } from "../../api/server";
import { Empty, Trouble } from "../../ui/notes";
import { Badge } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { instant, plural, seconds } from "../../ui/say";
import { useEvery } from "../../ui/store";
import { FlightTable } from "../data/queue";
import { short } from "./live";
import { range, spaced, who } from "./timeline";

export function Holders() {
  const [leases, setLeases] = useState<LiveLease[]>();
  const [messages, setMessages] = useState<InFlight[]>();
  const [opens, setOpens] = useState<Open[]>();
  const [error, setError] = useState<unknown>();
  useEvery(1000, async () => {
    try {
      const [one, other, third] = await Promise.all([api.leases(), api.messagesInFlight(), api.opens()]);
      setLeases(one.leases);
      setMessages(other.messages);
      setOpens(third.opens);
      setError(undefined);
    } catch (why) {
      setError(why);
    }
  });
  return (
    <div class="cards">
      {error !== undefined && <Trouble error={error} />}
      <section class="card wide">
        <h2>Leases {leases && <Badge tone="info">{leases.length}</Badge>}</h2>
        {leases?.length === 0 && <Empty>Nobody holds a lease that is in the record.</Empty>}
        {leases && leases.length > 0 && (
          <table class="lines">
            <thead>
              <tr>
                <th>Object</th>
                <th>Holder</th>
                <th>Since</th>
                <th>Renewed</th>
                <th>Time left</th>
                <th>Kept out</th>
              </tr>
            </thead>
            <tbody>
              {leases.map((lease) => (
                <tr key={lease.object + lease.id}>
                  <td class="wrap">
                    <a href={hash("concurrency", "timeline", lease.object)}>{short(lease.object)}</a> {lease.state === "breaking" && <Badge tone="warn">breaking</Badge>}
                    <div class="fine">{lease.id}</div>
                  </td>
                  <td class="wrap">{lease.holder ? who(lease.holder) : "not in the record any more"}</td>
                  <td>{instant(lease.since)}</td>
                  <td>{plural(lease.renewals, "time")}</td>
                  <td>
                    {lease.seconds_left !== null && <meter min={0} max={60} low={10} value={Math.min(60, lease.seconds_left)} aria-hidden="true" />} {seconds(lease.seconds_left)}
                  </td>
                  <td class="wrap">
                    <KeptOut refused={lease.refused} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section class="card wide">
        <h2>Messages in flight {messages && <Badge tone="info">{messages.length}</Badge>}</h2>
        {messages?.length === 0 ? <Empty>No worker holds a message.</Empty> : messages && <FlightTable all={messages} />}
      </section>
      <section class="card wide">
        <h2>Open over SMB {opens && <Badge tone="info">{opens.length}</Badge>}</h2>
        {opens?.length === 0 && <Empty>Nothing is open over SMB.</Empty>}
        {opens && opens.length > 0 && (
          <table class="lines">
            <thead>
              <tr>
                <th>Object</th>
                <th>Client</th>
                <th>Access</th>
                <th>Shares with</th>
                <th>Cache</th>
                <th>Locks</th>
                <th>Since</th>
                <th>Kept out</th>
              </tr>
            </thead>
            <tbody>
              {opens.map((open) => (
                <tr key={open.object + open.handle}>
                  <td class="wrap">
                    <a href={hash("concurrency", "timeline", open.object)}>{short(open.object)}</a>
                    <div class="fine">{open.holder?.request_id ?? `session ${open.session}`}</div>
                  </td>
                  <td>{open.client}</td>
                  <td>{open.access}</td>
                  <td>{open.share}</td>
                  <td>
                    {CACHES.filter(([letter]) => open.cache.includes(letter)).map(([, word]) => word).join(", ") || "nothing"}
                    {open.breaking_to !== null && <Badge tone="warn">asked to give it up</Badge>}
                  </td>
                  <td>{open.locks.length === 0 ? "none" : open.locks.map((lock) => <div key={lock.from + lock.to}>{range(lock)}</div>)}</td>
                  <td>{instant(open.since)}</td>
                  <td class="wrap">
                    <KeptOut refused={open.refused} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </div>
  );
}

const CACHES = [["R", "reads"], ["W", "writes"], ["H", "the handle"]] as const;

/** Who was refused because of it. */
function KeptOut({ refused }: { refused: Rec[] }) {
  if (refused.length === 0) return <>nobody</>;
  return (
    <>
      {refused.slice(0, 5).map((record) => (
        <div key={record.seq}>
          <button class="link" onClick={() => go("concurrency", "explain", record.request_id)}>
            {spaced(record.operation)} by {who(record)}
          </button>
        </div>
      ))}
      {refused.length > 5 && <span class="fine">and {refused.length - 5} more</span>}
    </>
  );
}
