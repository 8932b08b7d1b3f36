// Readings of the counters, one a second, and the rates between them. Kept while the page is open, so that a plot has a past when it is looked at again.
import * as api from "../../api/server";
import type { Metrics, Operation } from "../../api/server";
import { Store } from "../../ui/store";

const KEPT = 300;

export interface Reading {
  /** Seconds. */
  at: number;
  rate: number;
  refused: number;
  failed: number;
  p50: number | null;
  p99: number | null;
  memory: number | null;
  connections: number;
  bytesIn: number;
  bytesOut: number;
  stalled: number | null;
  commits: number | null;
  free: number | null;
}

export interface History {
  last?: Metrics;
  readings: Reading[];
  /** Of each operation, what it did in the last seconds. */
  operations: { name: string; rate: number; micros: number; p99: number | null; refused: number; failed: number; all: number }[];
}

export const history = new Store<History>({ readings: [], operations: [] });

const total = (operation: Operation): number => operation.by_class.reduce((sum, one) => sum + one, 0);
const sum = (all: Operation[], of: (operation: Operation) => number): number => all.reduce((so, one) => so + of(one), 0);

/** Buckets of the later reading less those of the earlier. */
function buckets(later: Operation[], earlier: Map<string, Operation>): Map<number, number> {
  const found = new Map<number, number>();
  for (const operation of later) {
    const before = new Map(earlier.get(operation.name)?.latency ?? []);
    for (const [upTo, count] of operation.latency) {
      const fresh = count - (before.get(upTo) ?? 0);
      if (fresh > 0) found.set(upTo, (found.get(upTo) ?? 0) + fresh);
    }
  }
  return found;
}

/** The bound below which this share of the answers came, in microseconds. */
function quantile(of: Map<number, number>, share: number): number | null {
  const all = [...of.values()].reduce((so, one) => so + one, 0);
  if (all === 0) return null;
  let seen = 0;
  for (const [upTo, count] of [...of].sort(([one], [other]) => one - other)) {
    seen += count;
    if (seen >= all * share) return upTo;
  }
  return null;
}

export async function read(): Promise<void> {
  const next = await api.metrics();
  const { last, readings } = history.get();
  if (last && next.at_ms <= last.at_ms) return;
  // Counters that are lower than before are those of a server that was started anew.
  const isSame = last && next.uptime_seconds >= last.uptime_seconds;
  if (!isSame) return history.set({ last: next, readings: [], operations: [] });
  const elapsed = (next.at_ms - last.at_ms) / 1000;
  const before = new Map(last.operations.map((operation) => [operation.name, operation]));
  const all = next.operations;
  const rate = (of: (operation: Operation) => number) => Math.max(0, (sum(all, of) - sum(last.operations, of)) / elapsed);
  const spread = buckets(all, before);
  const reading: Reading = {
    at: next.at_ms / 1000,
    rate: rate(total),
    refused: rate((one) => one.by_class[3] ?? 0),
    failed: rate((one) => one.by_class[4] ?? 0),
    p50: quantile(spread, 0.5),
    p99: quantile(spread, 0.99),
    memory: next.memory_bytes ?? null,
    connections: next.connections,
    bytesIn: rate((one) => one.bytes_in),
    bytesOut: rate((one) => one.bytes_out),
    stalled: next.engine && last.engine ? (next.engine.stall_seconds - last.engine.stall_seconds) / elapsed : null,
    commits: next.engine && last.engine ? (next.engine.commits - last.engine.commits) / elapsed : null,
    free: next.disk?.free_bytes ?? null,
  };
  const operations = all.map((operation) => {
    const old = before.get(operation.name);
    const fresh = total(operation) - (old ? total(old) : 0);
    return {
      name: operation.name,
      rate: fresh / elapsed,
      micros: total(operation) ? operation.micros / total(operation) : 0,
      p99: quantile(new Map(operation.latency), 0.99),
      refused: operation.by_class[3] ?? 0,
      failed: operation.by_class[4] ?? 0,
      all: total(operation),
    };
  });
  history.set({ last: next, readings: [...readings, reading].slice(-KEPT), operations });
}
