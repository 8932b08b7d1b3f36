// Conflicts as they happen, and the objects that see most of them.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../../api/server";
import type { Hot, Rec } from "../../api/server";
import { Empty } from "../../ui/notes";
import { Badge } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { count, instant } from "../../ui/say";
import { useEvery } from "../../ui/store";
import { answered, spaced, who } from "./timeline";

const SHOWN_MAX = 200;

/** `blob/account/pictures/cat.png` without the account, which is known. */
export const short = (object: string): string => object.split("/").filter((_, index) => index !== 1).join("/");

export function Live() {
  const [kind, setKind] = useState<"refusal" | "all">("refusal");
  const [shown, setShown] = useState<Rec[]>([]);
  const [lost, setLost] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [isPaused, setPaused] = useState(false);
  const waiting = useRef<Rec[]>([]);
  const paused = useRef(false);
  paused.current = isPaused;
  useEffect(() => {
    let isOver = false;
    waiting.current = [];
    api.records({ kind: kind === "refusal" ? "refusal" : undefined, limit: 50 }).then(
      (found) => isOver || setShown((old) => merge(old, found.records)),
      () => {},
    );
    const end = api.events(kind, (record) => waiting.current.push(record), (howMany) => setLost((old) => old + howMany), setOpen);
    // Many a second are drawn together.
    const timer = setInterval(() => {
      if (paused.current || waiting.current.length === 0) return;
      const fresh = waiting.current.splice(0).reverse();
      setShown((old) => merge(old, fresh));
    }, 200);
    return () => {
      isOver = true;
      end();
      clearInterval(timer);
      setShown([]);
    };
  }, [kind]);
  return (
    <div class="cards">
      <section class="card wide">
        <h2>
          <span>
            {kind === "refusal" ? "Conflicts" : "Changes and conflicts"} <Badge tone={isOpen ? "good" : "plain"}>{isOpen ? "live" : "connecting…"}</Badge>
          </span>
          <span class="actions">
            <button aria-pressed={kind === "all"} onClick={() => setKind(kind === "all" ? "refusal" : "all")}>
              {kind === "all" ? "Only conflicts" : "Changes too"}
            </button>
            <button aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              {isPaused ? "Go on" : "Pause"}
            </button>
          </span>
        </h2>
        {lost > 0 && <p class="fine">{count(lost)} came faster than this page could take them; they are in the record.</p>}
        {shown.length === 0 ? (
          <Empty>
            <p>{kind === "refusal" ? "Nobody was refused yet. When two clients race, the one that loses is shown here, with the reason." : "Nothing has happened yet."}</p>
          </Empty>
        ) : (
          <div class="stream" role="log" aria-label="Records as they happen">
            {shown.map((record) => (
              <Event key={record.seq} record={record} />
            ))}
          </div>
        )}
      </section>
      <Hottest />
    </div>
  );
}

function merge(old: Rec[], fresh: Rec[]): Rec[] {
  const known = new Set(old.map((record) => record.seq));
  return [...fresh.filter((record) => !known.has(record.seq)), ...old].sort((one, other) => other.seq - one.seq).slice(0, SHOWN_MAX);
}

function Event({ record }: { record: Rec }) {
  return (
    <div class={`event ${record.kind}`}>
      <time title={record.at}>{instant(record.at)}</time>
      <div>
        <div class="object">
          <strong>{spaced(record.operation)}</strong>{" "}
          <a href={hash("concurrency", "timeline", record.object)} title={record.object}>
            {short(record.object)}
          </a>
        </div>
        <div class="fine">
          {who(record)} {record.rehearsed != null && <Badge tone="warn">lab rule {record.rehearsed}</Badge>}
        </div>
      </div>
      <div>
        {record.kind === "refusal" ? (
          <>
            <Badge tone="bad">{answered(record)}</Badge>{" "}
            <button onClick={() => go("concurrency", "explain", record.request_id)}>Why?</button>
          </>
        ) : (
          <Badge tone={record.kind === "uncertain" ? "warn" : "good"}>{record.kind === "uncertain" ? "perhaps done" : (record.status ?? "done")}</Badge>
        )}
      </div>
    </div>
  );
}

function Hottest() {
  const [objects, setObjects] = useState<Hot[]>();
  const [minutes, setMinutes] = useState(5);
  useEvery(3000, async () => setObjects((await api.hot(minutes * 60)).objects), [minutes]);
  const most = Math.max(1, ...(objects ?? []).map((one) => one.refusals));
  return (
    <section class="card wide">
      <h2>
        Hottest objects
        <select aria-label="Over how long" style={{ width: "auto" }} value={minutes} onChange={(event) => setMinutes(Number(event.currentTarget.value))}>
          <option value="1">last minute</option>
          <option value="5">last 5 minutes</option>
          <option value="60">last hour</option>
        </select>
      </h2>
      {objects && objects.length === 0 && <Empty>No refusals in that time.</Empty>}
      {objects && objects.length > 0 && (
        <table class="lines">
          <thead>
            <tr>
              <th>Object</th>
              <th>Refused</th>
              <th>Changes</th>
              <th>With</th>
            </tr>
          </thead>
          <tbody>
            {objects.slice(0, 20).map((one) => (
              <tr key={one.object}>
                <td class="wrap">
                  <a href={hash("concurrency", "timeline", one.object)}>{short(one.object)}</a>
                </td>
                <td>
                  <meter min={0} max={most} value={one.refusals} aria-label={`${one.refusals} refusals`} /> {count(one.refusals)}
                </td>
                <td>{count(one.changes)}</td>
                <td class="fine">{Object.entries(one.by_code).map(([code, howMany]) => `${code} × ${howMany}`).join(", ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
