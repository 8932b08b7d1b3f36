// Why a request was refused: the one that was, the one that won, and a sentence that says what passed between them.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import { Trouble } from "../../ui/notes";
import { Badge } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { useLoad } from "../../ui/store";
import { RecordFacts, spaced } from "./timeline";

export function Explain({ requestId }: { requestId: string }) {
  const [text, setText] = useState(requestId);
  return (
    <>
      <form class="actions" onSubmit={(event) => (event.preventDefault(), go("concurrency", "explain", text.trim()))}>
        <input aria-label="Request id" placeholder="request id: the header x-ms-request-id of the answer, or smb-SESSION-MESSAGE" class="mono" style={{ flex: "1", minWidth: "240px" }} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
        <button class="main" disabled={!text.trim()}>
          Explain
        </button>
      </form>
      {requestId ? <Answer requestId={requestId} /> : <p class="fine">Every answer names its request id, and so does the error that an SDK raises. On the command line: <code>lazuli explain REQUEST-ID</code>. A request of SMB is named by its session and its message, as the access log has them.</p>}
    </>
  );
}

const WORDS: Record<string, string> = {
  replaced: "another change was faster", created: "another made it first", deleted: "another deleted it", leased: "another holds the lease", broken: "the lease was broken", released: "the lease was released",
  expired: "the lease had run out", changed: "the lease has another id now", taken: "the message was delivered again", held: "another has it open or locked", unchanged: "nothing had changed", unknown: "the cause is older than the record",
};

function Answer({ requestId }: { requestId: string }) {
  const { data, error, isLoading } = useLoad(() => api.explain(requestId), [requestId]);
  if (error) return <Trouble error={error} />;
  if (isLoading || !data) return <p class="loading">Looking…</p>;
  return (
    <>
      <p class="said">{data.text}</p>
      <p>
        <Badge tone={data.certain ? "good" : "warn"}>{WORDS[data.why] ?? data.why}</Badge> <a href={hash("concurrency", "timeline", data.record.object)}>Timeline of the object</a>
      </p>
      <div class="versus">
        <section class="card lost">
          <h2>Refused: {spaced(data.record.operation)}</h2>
          <RecordFacts record={data.record} />
        </section>
        <div class="mid">vs</div>
        {data.winner ? (
          <section class="card won">
            <h2>Won: {spaced(data.winner.operation)}</h2>
            <RecordFacts record={data.winner} />
          </section>
        ) : (
          <section class="card">
            <h2>No winner in the record</h2>
            <p class="fine">Nobody else’s request caused this, or it is older than what the record keeps.</p>
          </section>
        )}
      </div>
    </>
  );
}
