// Leases: who holds one cannot be seen from outside, but everything that a holder or a stranger may do can be done here.
import { useState } from "preact/hooks";
import * as api from "../../api/blob";
import { danger, Dialog } from "../../ui/dialog";
import { bad, good } from "../../ui/notes";
import { Copyable } from "../../ui/parts";
import { useLoad } from "../../ui/store";

interface Props {
  object: { container: string; name: string };
  state: string;
  onChange: () => void;
}

export function LeasePanel({ object, state, onChange }: Props) {
  const [seconds, setSeconds] = useState("60");
  const [id, setId] = useState("");
  const [isEndless, setEndless] = useState(false);
  const what = object.name || object.container;
  const act = async (asked: api.LeaseAsk, said: string) => {
    try {
      const held = await api.lease(object.container, object.name, asked);
      if (held) setId(held);
      if (asked.action === "release") setId("");
      good(said);
      onChange();
    } catch (error) {
      bad(error);
    }
  };
  const breakIt = () =>
    danger({
      title: `Break the lease of ${what}?`,
      says: (
        <p>
          Its holder loses the lease at once, is not told, and finds out when its next write is refused. Another can then take the lease. The data stays as it is.
        </p>
      ),
      action: "Break the lease",
      word: what.split("/").pop(),
      run: async () => {
        await api.lease(object.container, object.name, { action: "break", seconds: 0 });
        setId("");
        good("The lease is broken.");
        onChange();
      },
    });
  return (
    <div>
      <p>
        {state === "leased"
          ? "Somebody holds the lease. Until it ends, only who names its id may write or delete."
          : state === "breaking"
            ? "The lease is being broken: it still holds for a while."
            : "No lease holds: anybody with the right to write may write."}
      </p>
      {id && (
        <p>
          Lease id <Copyable text={id} label="lease id" />
        </p>
      )}
      <div class="two">
        <label>
          Seconds (15 to 60)
          <input type="number" min="15" max="60" value={seconds} disabled={isEndless} onInput={(event) => setSeconds(event.currentTarget.value)} />
        </label>
        <label>
          Lease id that you hold
          <input value={id} spellcheck={false} autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
        </label>
      </div>
      <label class="check">
        <input type="checkbox" checked={isEndless} onChange={(event) => setEndless(event.currentTarget.checked)} /> Without an end
      </label>
      <div class="actions">
        <button class="main" onClick={() => act({ action: "acquire", seconds: isEndless ? -1 : Number(seconds), proposed: id || undefined }, "You hold the lease.")}>
          Acquire
        </button>
        <button disabled={!id} onClick={() => act({ action: "renew", id }, "The lease runs from now again.")}>
          Renew
        </button>
        <button disabled={!id} onClick={() => act({ action: "release", id }, "The lease is free.")}>
          Release
        </button>
        <button class="warn" disabled={state !== "leased" && state !== "breaking"} onClick={breakIt}>
          Break…
        </button>
      </div>
    </div>
  );
}

export function LeaseDialog({ title, object, onClose }: { title: string; object: Props["object"]; onClose: () => void }) {
  const { data, reload } = useLoad(() => api.containerProperties(object.container), [object.container]);
  return (
    <Dialog title={`Lease of ${title}`} onClose={onClose}>
      <LeasePanel object={object} state={data?.headers.get("x-ms-lease-state") ?? ""} onChange={reload} />
    </Dialog>
  );
}
