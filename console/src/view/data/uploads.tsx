// Uploads: what was dropped or chosen, a few at a time, each with its progress, each to be cancelled. Held true: nothing that is there already is replaced unless somebody
// says so for that file.
import { Refused } from "../../api/data";
import { Icon } from "../../ui/icon";
import { words } from "../../ui/notes";
import { bytes, plural } from "../../ui/say";
import { Store, useStore } from "../../ui/store";

const AT_ONCE = 4;

type State = "waiting" | "going" | "done" | "there" | "failed" | "cancelled";

interface Upload {
  id: number;
  name: string;
  size: number;
  sent: number;
  state: State;
  why: string;
  control: AbortController;
  run: (overwrite: boolean, signal: AbortSignal, onSent: (bytes: number) => void) => Promise<void>;
  overwrite: boolean;
}

const uploads = new Store<Upload[]>([]);
let last = 0;
let going = 0;
let finished: () => void = () => {};

const change = (id: number, to: Partial<Upload>): void => uploads.change((all) => all.map((one) => (one.id === id ? { ...one, ...to } : one)));

export interface Chosen {
  name: string;
  file: File;
}

/** Begins to upload. `after` is called when all of them have ended. */
export function begin(files: Chosen[], put: (chosen: Chosen, overwrite: boolean, signal: AbortSignal, onSent: (bytes: number) => void) => Promise<void>, after: () => void): void {
  finished = after;
  const made = files.map((chosen): Upload => ({
    id: ++last, name: chosen.name, size: chosen.file.size, sent: 0, state: "waiting", why: "", control: new AbortController(), overwrite: false,
    run: (overwrite, signal, onSent) => put(chosen, overwrite, signal, onSent),
  }));
  uploads.change((all) => [...all.filter((one) => one.state !== "done"), ...made]);
  pump();
}

function pump(): void {
  while (going < AT_ONCE) {
    const next = uploads.get().find((one) => one.state === "waiting");
    if (!next) break;
    going++;
    change(next.id, { state: "going", sent: 0 });
    next
      .run(next.overwrite, next.control.signal, throttled((sent) => change(next.id, { sent: Math.min(sent, next.size) })))
      .then(
        () => change(next.id, { state: "done", sent: next.size }),
        (error) => change(next.id, outcome(error)),
      )
      .finally(() => {
        going--;
        pump();
        if (going === 0) finished();
      });
  }
}

function outcome(error: unknown): Partial<Upload> {
  if (error instanceof DOMException && error.name === "AbortError") return { state: "cancelled", why: "cancelled" };
  if (error instanceof Refused && (error.code === "BlobAlreadyExists" || error.code === "ConditionNotMet")) return { state: "there", why: "there already" };
  return { state: "failed", why: words(error) };
}

function throttled(tell: (sent: number) => void): (sent: number) => void {
  let at = 0;
  return (sent) => {
    if (performance.now() - at < 100) return;
    at = performance.now();
    tell(sent);
  };
}

const again = (one: Upload, overwrite: boolean): void => {
  change(one.id, { state: "waiting", overwrite, control: new AbortController(), why: "" });
  pump();
};

const SHOWN_MAX = 200;

export function Uploads() {
  const all = useStore(uploads);
  if (all.length === 0) return null;
  const open = all.filter((one) => one.state === "waiting" || one.state === "going");
  const there = all.filter((one) => one.state === "there");
  const [sent, size] = [all.reduce((sum, one) => sum + one.sent, 0), all.reduce((sum, one) => sum + one.size, 0)];
  const cancel = () => {
    for (const one of open) {
      one.control.abort();
      if (one.state === "waiting") change(one.id, { state: "cancelled", why: "cancelled" });
    }
  };
  return (
    <section class="uploads" aria-label="Uploads">
      <header>
        <strong>
          {open.length ? `Uploading ${plural(open.length, "file")}` : `Uploads: ${plural(all.filter((one) => one.state === "done").length, "file")} done`}
          <span class="fine"> {bytes(sent)} of {bytes(size)}</span>
        </strong>
        <span class="actions">
          {there.length > 1 && <button onClick={() => there.forEach((one) => again(one, true))}>Replace all {there.length} that are there</button>}
          {open.length > 0 ? <button onClick={cancel}>Cancel all</button> : <button onClick={() => uploads.set([])}>Close</button>}
        </span>
      </header>
      {all.slice(0, SHOWN_MAX).map((one) => (
        <div class="upload" key={one.id}>
          <span title={one.name}>{one.name}</span>
          <progress value={one.size ? one.sent : one.state === "done" ? 1 : 0} max={one.size || 1} aria-label={`Progress of ${one.name}`} />
          <span class="fine" title={one.why}>{one.state === "going" ? `${bytes(one.sent)} of ${bytes(one.size)}` : one.why || one.state}</span>
          <span>
            {(one.state === "going" || one.state === "waiting") && (
              <button
                class="bare"
                aria-label={`Cancel ${one.name}`}
                onClick={() => (one.control.abort(), one.state === "waiting" && change(one.id, { state: "cancelled", why: "cancelled" }))}
              >
                <Icon name="close" />
              </button>
            )}
            {one.state === "there" && (
              <button class="link" onClick={() => again(one, true)}>
                Replace
              </button>
            )}
            {(one.state === "failed" || one.state === "cancelled") && (
              <button class="link" onClick={() => again(one, one.overwrite)}>
                Again
              </button>
            )}
          </span>
        </div>
      ))}
      {all.length > SHOWN_MAX && <p class="fine">and {all.length - SHOWN_MAX} more</p>}
    </section>
  );
}

// --- What was dropped ------------------------------------------------------------------------------------------------

/** The files of a drop, with those in folders under the path that they have there. */
export async function dropped(transfer: DataTransfer): Promise<Chosen[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry != null);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ name: file.name, file }));
  const found: Chosen[] = [];
  const walk = async (entry: FileSystemEntry): Promise<void> => {
    const name = entry.fullPath.replace(/^\//, "");
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      found.push({ name, file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      // A directory is read in parts; an empty one is the end.
      const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (part.length === 0) break;
      for (const child of part) await walk(child);
    }
  };
  for (const entry of entries) await walk(entry);
  return found;
}

/** Files of an <input>; those of a folder keep their path. */
export const chosen = (input: HTMLInputElement): Chosen[] => [...(input.files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
