// Live plots, and what each operation costs.
import { useState } from "preact/hooks";
import { Trouble } from "../../ui/notes";
import { Plot } from "../../ui/plot";
import { bytes, count, seconds } from "../../ui/say";
import { useEvery, useStore } from "../../ui/store";
import type { Signed } from "../session";
import { history, read } from "./history";

const micros = (value: number): string => (value < 1000 ? `${Math.round(value)} µs` : value < 1_000_000 ? `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} ms` : `${(value / 1_000_000).toFixed(1)} s`);
const perSecond = (value: number): string => (value >= 100 ? count(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "")) + "/s";
const share = (value: number): string => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;

export function Numbers({ now }: { now: Signed }) {
  const { readings, last, operations } = useStore(history);
  const [error, setError] = useState<unknown>();
  useEvery(1000, () => read().then(() => setError(undefined), setError));
  if (now.session.kind !== "key" && !now.session.operator) return <p>Numbers of the server are for the account’s key and the operator.</p>;
  if (error && !last) return <Trouble error={error} />;
  const times = readings.map((one) => one.at);
  const latest = readings.at(-1);
  const of = <Key extends keyof (typeof readings)[number]>(key: Key) => readings.map((one) => one[key]);
  return (
    <>
      <div class="tiles">
        <Tile name="Requests" value={latest ? perSecond(latest.rate) : "…"} />
        <Tile name="99 % faster than" value={latest?.p99 ? micros(latest.p99) : "–"} />
        <Tile name="Refused or failed" value={latest ? perSecond(latest.refused + latest.failed) : "…"} />
        <Tile name="Connections" value={last ? count(last.connections) : "…"} />
        <Tile name="Memory" value={last?.memory_bytes ? bytes(last.memory_bytes) : "–"} />
        <Tile name="Disk free" value={last?.disk ? bytes(last.disk.free_bytes) : now.server.place === "memory" ? "in memory" : "–"} />
        <Tile name="Record" value={last?.recorder ? bytes(last.recorder.bytes) : "off"} more={last?.recorder ? `${count(last.recorder.records)} of ${bytes(last.recorder.bytes_max)}` : ""} />
        <Tile name="Up for" value={last ? seconds(last.uptime_seconds) : "…"} more={`Lazuli ${now.server.version}`} />
      </div>
      <div class="cards">
        <Chart title="Requests" times={times} atLeast={4} say={perSecond} lines={[{ label: "all", colour: "accent", values: of("rate"), fill: true }, { label: "refused (4xx)", colour: "gold", values: of("refused") }, { label: "failed (5xx)", colour: "bad", values: of("failed") }]} />
        <Chart title="Latency" times={times} say={micros} lines={[{ label: "half", colour: "accent", values: of("p50") }, { label: "99 %", colour: "gold", values: of("p99") }]} />
        <Chart title="Bytes" times={times} isBytes atLeast={1024} say={(value) => `${bytes(Math.round(value))}/s`} lines={[{ label: "in", colour: "accent", values: of("bytesIn") }, { label: "out", colour: "good", values: of("bytesOut") }]} />
        <Chart title="Memory" times={times} isBytes say={(value) => bytes(Math.round(value))} lines={[{ label: "resident", colour: "accent", values: of("memory"), fill: true }]} />
        {last?.engine && <Chart title="Engine" times={times} atLeast={4} say={perSecond} lines={[{ label: "commits", colour: "accent", values: of("commits"), fill: true }]} />}
        {last?.engine && <Chart title="Stalled" times={times} atLeast={0.05} say={share} lines={[{ label: "share of time", colour: "bad", values: of("stalled"), fill: true }]} />}
        <Chart title="Connections" times={times} atLeast={4} say={(value) => String(Math.round(value))} lines={[{ label: "open", colour: "accent", values: of("connections"), fill: true }]} />
        {last?.disk && <Chart title="Disk free" times={times} isBytes say={(value) => bytes(Math.round(value))} lines={[{ label: "free", colour: "good", values: of("free"), fill: true }]} />}
        <section class="card wide">
          <h2>Operations</h2>
          <div class="sheet">
            <table class="lines">
              <thead>
                <tr>
                  <th>Operation</th>
                  <th>Now</th>
                  <th>In all</th>
                  <th>Mean</th>
                  <th>99 % faster than</th>
                  <th>Refused</th>
                  <th>Failed</th>
                </tr>
              </thead>
              <tbody>
                {operations
                  .toSorted((one, other) => other.all - one.all)
                  .map((one) => (
                    <tr key={one.name}>
                      <td>{one.name}</td>
                      <td>{perSecond(one.rate)}</td>
                      <td>{count(one.all)}</td>
                      <td>{micros(one.micros)}</td>
                      <td>{one.p99 ? micros(one.p99) : "–"}</td>
                      <td>{count(one.refused)}</td>
                      <td>{count(one.failed)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        </section>
      </div>
    </>
  );
}

const Tile = ({ name, value, more }: { name: string; value: string; more?: string }) => (
  <div class="tile">
    <span class="fine">{name}</span>
    <span class="big">{value}</span>
    {more && <span class="fine">{more}</span>}
  </div>
);

function Chart({ title, ...plot }: { title: string } & Omit<Parameters<typeof Plot>[0], "label">) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Plot {...plot} label={title} />
    </section>
  );
}
