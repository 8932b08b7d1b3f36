// What the lists of a container and of a share have in common: a search by the beginning of names, uploads by choice or by dropping, and what is shown instead of an empty list.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bad, Empty, Trouble } from "../../ui/notes";
import { Menu } from "../../ui/parts";
import { chosen, dropped } from "./uploads";
import type { Chosen } from "./uploads";

export function NameFilter({ value, onInput }: { value: string; onInput: (value: string) => void }) {
  return <input class="filter" type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value={value} onInput={(event) => onInput(event.currentTarget.value)} />;
}

export function UploadMenu({ onFiles }: { onFiles: (files: Chosen[]) => void }) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => folder.current?.setAttribute("webkitdirectory", ""), []);
  const take = (input: HTMLInputElement) => {
    onFiles(chosen(input));
    input.value = "";
  };
  return (
    <>
      <Menu label="Upload ▾">
        <button onClick={() => files.current?.click()}>Files…</button>
        <button onClick={() => folder.current?.click()}>A folder…</button>
        <p class="fine">or drop them on the list</p>
      </Menu>
      <input ref={files} type="file" multiple hidden aria-label="Files to upload" onChange={(event) => take(event.currentTarget)} />
      <input ref={folder} type="file" multiple hidden aria-label="Folder to upload" onChange={(event) => take(event.currentTarget)} />
    </>
  );
}

/** A list with what is open beside it. Files and folders that are dropped on it are uploaded. */
export function DropZone({ onFiles, children }: { onFiles: (files: Chosen[]) => void; children: ComponentChildren }) {
  const [isOver, setOver] = useState(false);
  return (
    <div
      class={`split${isOver ? " drop" : ""}`}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={(event) => event.currentTarget === event.target && setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer) dropped(event.dataTransfer).then(onFiles, bad);
      }}
    >
      {children}
    </div>
  );
}

interface Loaded {
  error?: unknown;
  isLoading: boolean;
  hasMore: boolean;
  reload: () => void;
}

/** The rows; or why there are none. */
export function Listing({ pages, count, search, children }: { pages: Loaded; count: number; search: string; children: ComponentChildren }) {
  if (pages.error) {
    return (
      <div class="content">
        <Trouble error={pages.error} retry={pages.reload} />
      </div>
    );
  }
  if (count > 0 || pages.isLoading || pages.hasMore) return <>{children}</>;
  return (
    <div class="content">
      <Empty>
        <p>{search ? "No name begins so." : "Nothing is here yet."}</p>
        <p>Drop files or folders here, or choose Upload.</p>
      </Empty>
    </div>
  );
}
