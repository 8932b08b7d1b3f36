// Short messages, read aloud by screen readers; and refusals, which can be asked about.
import type { ComponentChildren } from "preact";
import { Refused } from "../api/data";
import { Store, useStore } from "./store";
import { Icon } from "./icon";
import { go } from "./route";

interface Note {
  id: number;
  kind: "good" | "bad";
  text: string;
  refused?: Refused;
}

const notes = new Store<Note[]>([]);
let last = 0;

function add(note: Omit<Note, "id">): void {
  const id = ++last;
  notes.change((all) => [...all.slice(-3), { ...note, id }]);
  setTimeout(() => drop(id), note.kind === "good" ? 5000 : 15000);
}

const drop = (id: number): void => notes.change((all) => all.filter((note) => note.id !== id));

export const good = (text: string): void => add({ kind: "good", text });

export function bad(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  add({ kind: "bad", text: words(error), refused: error instanceof Refused ? error : undefined });
}

export function words(error: unknown): string {
  if (error instanceof Refused) return CLEARER[error.code] ?? error.message;
  if (error instanceof TypeError) return "The server does not answer. Is it still running?";
  return error instanceof Error ? error.message : String(error);
}

/** Refusals that people meet here, and what they can do. */
const CLEARER: Record<string, string> = {
  ConditionNotMet: "Somebody changed this after you read it. Nothing was written. Load it again, then make your change.",
  UpdateConditionNotSatisfied: "Somebody changed this after you read it. Nothing was written. Load it again, then make your change.",
  LeaseIdMissing: "This is leased, and the request did not name the lease. Give the lease id, or break the lease first.",
  BlobAlreadyExists: "There is a blob of this name already. It was left as it is.",
  AuthorizationPermissionMismatch: "Your credential does not allow this.",
};

export function Why({ refused }: { refused: Refused }) {
  if (!refused.isConflict || !refused.requestId) return null;
  return (
    <button type="button" class="link" onClick={() => go("concurrency", "explain", refused.requestId)}>
      Why was I refused?
    </button>
  );
}

export function Notes() {
  const all = useStore(notes);
  return (
    <div class="notes" role="status" aria-live="polite">
      {all.map((note) => (
        <div key={note.id} class={`note ${note.kind}`}>
          <div>
            {note.text}
            {note.refused && (
              <div class="fine">
                {note.refused.status} {note.refused.code} <Why refused={note.refused} />
              </div>
            )}
          </div>
          <button class="bare" aria-label="Dismiss" onClick={() => drop(note.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <strong>{words(error)}</strong>
      {error instanceof Refused && (
        <div class="fine">
          {error.status} {error.code}
          {error.detail && <div>{error.detail}</div>}
          {error.requestId && <div>Request {error.requestId}</div>}
          <Why refused={error} />
        </div>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}
