// The console's own API (docs/lab-api.md): sessions, the recorder, the lab, and how the server is.
import { refusal, sessionHeaders } from "./data";

export interface Session {
  kind: "key" | "sas" | "token" | "operator";
  account?: string;
  operator: boolean;
  csrf: string;
  expires: string;
  sas?: { service?: string; container?: string | null; name?: string | null; permissions: string; expiry: string };
}

export interface ServerInfo {
  version: string;
  started: string;
  now: string;
  lab: boolean;
  recorder: boolean;
  account?: string;
  endpoints: Record<string, string>;
  clock: { moved_seconds: number };
  place: string;
  /** The account has a hierarchical namespace: its containers are file systems. */
  hierarchical: boolean;
}

export interface Check {
  name: string;
  ok: boolean;
  found: string;
  do?: string;
}

export interface Operation {
  name: string;
  by_class: number[];
  micros: number;
  bytes_in: number;
  bytes_out: number;
  latency: [number, number][];
}

export interface Metrics {
  at_ms: number;
  uptime_seconds: number;
  connections: number;
  memory_bytes?: number;
  operations: Operation[];
  engine?: { commits: number; transactions: number; commit_seconds: number; stalls: number; stall_seconds: number; queued: number; journal_bytes: number };
  disk?: { free_bytes: number; total_bytes: number };
  recorder?: { bytes: number; bytes_max: number; records: number; dropped: number };
  lab?: { fired: number };
}

export interface Setting {
  name: string;
  value: string;
  about: string;
}

export interface Account {
  name: string;
  keys: string;
  settings: Setting[];
}

export interface LogLine {
  seq: number;
  level: string;
  text: string;
}

/** One change, or one refusal. */
export interface Rec {
  seq: number;
  at: string;
  request_id: string;
  client_request_id?: string | null;
  object: string;
  operation: string;
  /** Absent for SMB, whose statuses have names. */
  status?: number;
  code?: string | null;
  kind: "change" | "refusal" | "uncertain";
  principal: string;
  address?: string | null;
  agent?: string | null;
  etag_before?: string | null;
  etag?: string | null;
  asked?: Record<string, string | null>;
  lease?: { action: string; id?: string | null; proposed?: string | null; seconds?: number | null };
  messages?: { id: string; dequeues: number; visible: string }[];
  /** SMB handles: that it used, and that was in its way. */
  handle?: string;
  held_by?: string;
  locks?: Locked[];
  rehearsed?: number | null;
}

export interface Explanation {
  record: Rec;
  text: string;
  winner: Rec | null;
  why: string;
  certain: boolean;
}

export interface LiveLease {
  object: string;
  id: string;
  state: "leased" | "breaking";
  holder: Rec | null;
  since: string;
  renewals: number;
  seconds_left: number | null;
  refused: Rec[];
}

export interface InFlight {
  object: string;
  id: string;
  holder: Rec | null;
  dequeues: number;
  seconds_left: number;
}

export interface Hot {
  object: string;
  refusals: number;
  by_code: Record<string, number>;
  changes: number;
}

/** A range of bytes; `to` is exclusive. */
export interface Locked {
  from: string;
  to: string;
  exclusive: boolean;
}

/** Something that is open over SMB. */
export interface Open {
  object: string;
  handle: string;
  session: string;
  client: string;
  access: string;
  share: string;
  /** What its client caches: reads, writes, the handle. */
  cache: string;
  breaking_to: string | null;
  locks: Locked[];
  since: string;
  holder: Rec | null;
  refused: Rec[];
}

export interface Rule {
  id: number;
  do: string;
  operation?: string | null;
  account?: string | null;
  container?: string | null;
  prefix?: string | null;
  probability?: number | null;
  count?: number | null;
  seconds?: number | null;
  note?: string | null;
  status?: number | null;
  apply?: boolean | null;
  milliseconds?: number | null;
  bytes?: number | null;
  requests_per_second?: number | null;
  bytes_per_second?: number | null;
  fired: number;
  left: number | null;
}

export interface Lab {
  rules: Rule[];
  clock: { now: string; moved_seconds: number };
  fired: number;
}

async function call<Answer>(path: string, method = "GET", body?: unknown): Promise<Answer> {
  const response = await fetch(`/api/${path}`, {
    method,
    headers: { ...sessionHeaders(), ...(body === undefined ? {} : { "content-type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "same-origin",
  });
  if (!response.ok) throw await refusal(response);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

const search = (query: Record<string, string | number | undefined>): string => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return pairs.length ? "?" + pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&") : "";
};

export const signIn = (credential: Record<string, string>) => call<Session>("session", "POST", credential);
export const session = () => call<Session>("session");
export const raise = (operator: string) => call<Session>("session/operator", "POST", { operator });
export const signOut = () => call<void>("session", "DELETE");

export const server = () => call<ServerInfo>("server");
export const health = () => call<{ ready: boolean; checks: Check[] }>("health");
export const metrics = () => call<Metrics>("metrics");
export const accounts = () => call<{ accounts: Account[] }>("accounts");
export const setSettings = (name: string, settings: Record<string, string>) => call<Account>(`accounts/${name}/settings`, "POST", settings);
export const log = (after: number) => call<{ lines: LogLine[]; next: number }>(`log${search({ after })}`);

export interface Wanted {
  account?: string;
  object?: string;
  operation?: string;
  kind?: string;
  code?: string;
  before?: number;
  limit?: number;
}

export const records = (wanted: Wanted) => call<{ records: Rec[]; more: boolean }>(`records${search({ ...wanted })}`);
export const timeline = (object: string) => call<{ object: string; records: Rec[] }>(`timeline${search({ object })}`);
export const explain = (requestId: string) => call<Explanation>(`explain/${encodeURIComponent(requestId)}`);
export const leases = () => call<{ leases: LiveLease[] }>("leases");
export const messagesInFlight = () => call<{ messages: InFlight[] }>("messages");
export const hot = (seconds: number) => call<{ objects: Hot[] }>(`hot${search({ seconds })}`);
export const opens = () => call<{ opens: Open[] }>("opens");

export const lab = () => call<Lab>("lab");
export const addRule = (rule: Partial<Rule>) => call<Rule>("lab/rules", "POST", rule);
export const removeRule = (id: number) => call<void>(`lab/rules/${id}`, "DELETE");
export const removeRules = () => call<void>("lab/rules", "DELETE");
export const advance = (seconds: number) => call<{ now: string; moved_seconds: number }>("lab/clock", "POST", { advance_seconds: seconds });
export const reset = (account?: string) =>
  call<Record<"containers" | "queues" | "tables" | "shares", number>>("lab/reset", "POST", account ? { account } : {});

export const makeSas = (asked: Record<string, unknown>) => call<{ sas: string; url: string }>("sas", "POST", asked);
export const checkSas = (url: string, method: string) =>
  call<{ fields: Record<string, string>; accepted: boolean; code?: string; reason?: string }>("sas/check", "POST", { url, method });

/** Records as they happen. Ends when the returned function is called. */
export function events(kind: "refusal" | "all", onRecord: (record: Rec) => void, onLost: (count: number) => void, onState: (open: boolean) => void): () => void {
  const source = new EventSource(`/api/events?kind=${kind}`);
  source.addEventListener("record", (event) => onRecord(JSON.parse((event as MessageEvent).data)));
  source.addEventListener("lost", (event) => onLost(JSON.parse((event as MessageEvent).data).count));
  source.addEventListener("end", () => (source.close(), onState(false)));
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  return () => source.close();
}
