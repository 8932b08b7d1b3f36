// Whether the server can do its work, check by check, and what to do where it cannot.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import { Trouble } from "../../ui/notes";
import { Badge, Copyable, Facts } from "../../ui/parts";
import { seconds, time } from "../../ui/say";
import { useEvery } from "../../ui/store";
import type { Signed } from "../session";

export function Health({ now }: { now: Signed }) {
  const [found, setFound] = useState<Awaited<ReturnType<typeof api.health>>>();
  const [error, setError] = useState<unknown>();
  useEvery(5000, () => api.health().then((said) => (setFound(said), setError(undefined)), setError));
  const { server } = now;
  return (
    <div class="cards">
      <section class="card">
        <h2>
          Can it work? {found && <Badge tone={found.ready ? "good" : "bad"}>{found.ready ? "ready" : "not ready"}</Badge>}
        </h2>
        {error !== undefined && <Trouble error={error} />}
        {found?.checks.map((check) => (
          <div key={check.name} class="step-line">
            <p>
              <Badge tone={check.ok ? "good" : "bad"}>{check.ok ? "ok" : "look"}</Badge> <strong>{check.name}</strong>: {check.found}
            </p>
            {check.do && <p class="wrong">{check.do}</p>}
          </div>
        ))}
      </section>
      <section class="card">
        <h2>This server</h2>
        <Facts
          facts={[
            ["Version", server.version],
            ["Started", time(server.started)],
            ["Its time", time(server.now)],
            ["Clock", server.clock.moved_seconds > 0 ? `moved forward by ${seconds(server.clock.moved_seconds)}` : "as the machine’s"],
            ["Data lives", server.place === "memory" ? "in memory: gone after a stop" : server.place],
            ["Recorder", server.recorder ? "on" : "off"],
            ["Lab", server.lab ? <Badge tone="warn">on</Badge> : "off"],
            ...Object.entries(server.endpoints).map(([name, address]) => [name, <Copyable text={address} label={`${name} endpoint`} />] as const),
          ]}
        />
      </section>
    </div>
  );
}
