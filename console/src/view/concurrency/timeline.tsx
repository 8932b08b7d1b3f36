// What happened to one object, in order; and a record as one line of plain words.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import type { Locked, Rec } from "../../api/server";
import { Empty, Trouble } from "../../ui/notes";
import { Badge, Facts } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { instant, time } from "../../ui/say";
import { useEvery, useLoad } from "../../ui/store";

/** Who asked, as far as is known. */
export function who(record: Rec): string {
  const said = record.agent ?? "";
  const agent = said.startsWith("Mozilla/") ? "a browser" : (said.split(" ")[0] ?? "");
  return [record.address, agent && agent.length > 40 ? agent.slice(0, 40) + "…" : agent].filter(Boolean).join(" · ") || record.principal;
}

/** An operation's name in words: `PutBlob` is "Put Blob". */
export const spaced = (name: string): string => name.replace(/([a-z])([A-Z])/g, "$1 $2");

const shortTag = (etag: string | null | undefined): string => (etag ? etag.replace(/"/g, "").replace(/^0x/, "").slice(-8) : "");

/** How a request was answered: `412 ConditionNotMet`, or the name of a status of SMB. */
export const answered = (record: Rec): string => [record.status, record.code].filter(Boolean).join(" ");

export function RecordLine({ record }: { record: Rec }) {
  return (
    <span>
      {spaced(record.operation)} <span class="fine">by {who(record)} at {instant(record.at)}</span>
    </span>
  );
}

export function Step({ record }: { record: Rec }) {
  const [isOpen, setOpen] = useState(false);
  const kind = record.kind === "refusal" ? "refusal" : record.lease ? "lease" : "change";
  return (
    <li class={`step ${kind}`}>
      <button class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {spaced(record.operation)}
      </button>{" "}
      {record.kind === "refusal" ? <Badge tone="bad">{answered(record)}</Badge> : <Badge tone={record.lease ? "warn" : "good"}>{record.lease ? record.lease.action : "done"}</Badge>}{" "}
      {record.rehearsed != null && <Badge tone="warn">lab rule {record.rehearsed}</Badge>}
      <div class="fine">
        <time title={record.at}>{instant(record.at)}</time> · {who(record)}
        {record.etag && ` · ETag ${record.etag_before ? `…${shortTag(record.etag_before)} → ` : ""}…${shortTag(record.etag)}`}
      </div>
      {record.kind === "refusal" && (
        <button class="link" onClick={() => go("concurrency", "explain", record.request_id)}>
          Why?
        </button>
      )}
      {isOpen && <RecordFacts record={record} />}
    </li>
  );
}

/** `0–9, exclusive` */
export const range = (lock: Locked): string => `${lock.from}–${BigInt(lock.to) - 1n}, ${lock.exclusive ? "exclusive" : "shared"}`;

export function RecordFacts({ record }: { record: Rec }) {
  const asked = Object.entries(record.asked ?? {}).filter(([, value]) => value);
  const names: Record<string, string> = { if_match: "If-Match", if_none_match: "If-None-Match", if_modified_since: "If-Modified-Since", if_unmodified_since: "If-Unmodified-Since", lease: "Lease id given" };
  return (
    <Facts
      facts={[
        ["When", <span title={record.at}>{time(record.at)} ({instant(record.at)})</span>],
        ["Object", <a href={hash("concurrency", "timeline", record.object)}>{record.object}</a>],
        ["Answer", answered(record) || "done"],
        ["Who", record.principal],
        ["From", record.address ?? ""],
        ["Agent", record.agent ?? ""],
        ["ETag before", record.etag_before ?? ""],
        ["ETag after", record.etag ?? ""],
        ...asked.map(([name, value]) => [names[name] ?? name, value!] as const),
        ["Lease", record.lease ? `${record.lease.action} ${record.lease.id ?? ""} ${record.lease.seconds ? `for ${record.lease.seconds} s` : ""}` : ""],
        ["Messages", record.messages?.map((message) => `${message.id} (taken ${message.dequeues} times)`).join(", ") ?? ""],
        ["Handle", record.handle ?? ""],
        ["In the way", record.held_by ? `handle ${record.held_by}` : ""],
        ["Ranges", record.locks?.map(range).join(", ") ?? ""],
        ["Request id", record.request_id],
        ["Client request id", record.client_request_id ?? ""],
      ]}
    />
  );
}

export function ObjectTimeline({ object, isPrefix }: { object: string; isPrefix?: boolean }) {
  const { data, error, reload } = useLoad(
    async () => (isPrefix ? (await api.records({ object, limit: 200 })).records.toReversed() : (await api.timeline(object)).records),
    [object, isPrefix],
  );
  useEvery(2000, reload, [object]);
  if (error) return <Trouble error={error} retry={reload} />;
  if (!data) return <p class="loading">Loading…</p>;
  if (data.length === 0) return <Empty>Nothing is in the record. It keeps the latest changes and refusals, in memory.</Empty>;
  return (
    <>
      <p class="fine">Newest last.</p>
      <ol class="track">
        {data.map((record) => (
          <Step key={record.seq} record={record} />
        ))}
      </ol>
    </>
  );
}
