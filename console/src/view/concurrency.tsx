// Concurrency: what clients do to each other, live. Conflicts as they happen, who holds what, the story of an object, why a request was refused, and the lab.
import { useState } from "preact/hooks";
import { Tabs } from "../ui/parts";
import { go } from "../ui/route";
import { Explain } from "./concurrency/explain";
import { Holders } from "./concurrency/holders";
import { LabView } from "./concurrency/lab";
import { Live } from "./concurrency/live";
import { ObjectTimeline } from "./concurrency/timeline";
import { accountOf, mayRecord } from "./session";
import type { Signed } from "./session";

const TABS = [
  ["live", "Live"],
  ["holders", "Who holds what"],
  ["timeline", "Timeline"],
  ["explain", "Why was I refused?"],
  ["lab", "Lab"],
] as const;

type Tab = (typeof TABS)[number][0];

export function Concurrency({ now, route }: { now: Signed; route: string[] }) {
  const tab: Tab = TABS.find(([name]) => name === route[0])?.[0] ?? "live";
  const may = mayRecord(now);
  return (
    <div class="content padded">
      <Tabs label="Concurrency" names={TABS} now={tab} onPick={(next) => go("concurrency", next)} />
      {!may && tab !== "lab" && (
        <p>
          {now.server.recorder
            ? "The record shows what others did, so it opens only to the account’s key, and to the operator. Sign in with one of them."
            : "The recorder is off: the server runs with --recorder 0. Start it without to see who was faster."}
        </p>
      )}
      {may && tab === "live" && <Live />}
      {may && tab === "holders" && <Holders />}
      {may && tab === "timeline" && <TimelineOf key={route[1]} now={now} object={route[1] ?? ""} />}
      {may && tab === "explain" && <Explain key={route[1]} requestId={route[1] ?? ""} />}
      {tab === "lab" && <LabView now={now} />}
    </div>
  );
}

function TimelineOf({ now, object }: { now: Signed; object: string }) {
  const [text, setText] = useState(object || `blob/${accountOf(now)}/`);
  return (
    <>
      <form class="actions" onSubmit={(event) => (event.preventDefault(), go("concurrency", "timeline", text.trim()))}>
        <input aria-label="Object" style={{ flex: "1", minWidth: "240px" }} class="mono" value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
        <button class="main">Show</button>
      </form>
      <p class="fine">
        <code>blob/ACCOUNT/CONTAINER/NAME</code>, <code>queue/ACCOUNT/QUEUE</code>, <code>table/ACCOUNT/TABLE/PARTITION/ROW</code> or <code>file/ACCOUNT/SHARE/PATH</code>
      </p>
      {object && <ObjectTimeline object={object} />}
    </>
  );
}
