// One share: directories and files, its snapshots, and the handles that clients hold.
import { useEffect, useState } from "preact/hooks";
import * as api from "../../api/file";
import type { Entry } from "../../api/file";
import { address, encodePath, Refused } from "../../api/data";
import { danger, Dialog, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { bad, Empty, good, Trouble } from "../../ui/notes";
import { each, usePages } from "../../ui/pages";
import { Badge, Copyable, Crumbs, Facts, Menu, PairEditor, pairsOf, recordOf, useDraft } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { Rows } from "../../ui/rows";
import { bytes, count, plural, time } from "../../ui/say";
import { useLoad } from "../../ui/store";
import { ObjectTimeline } from "../concurrency/timeline";
import { BackToList } from "../data";
import { accountOf, mayRecord } from "../session";
import type { Signed } from "../session";
import { DropZone, Listing, NameFilter, UploadMenu } from "./listing";
import { SasDialog } from "./sas";
import { noteChange } from "./side";
import { begin, Uploads } from "./uploads";
import type { Chosen } from "./uploads";

const COLUMNS = [
  ["Name", "minmax(0, 1fr)"],
  ["Size", "90px"],
  ["Modified", "160px"],
] as const;

const joined = (path: string, name: string): string => (path ? `${path}/${name}` : name);

export function ShareView({ now, share, path, open }: { now: Signed; share: string; path: string; open: string }) {
  const [snapshot, setSnapshot] = useState("");
  const [search, setSearch] = useState("");
  const [marked, setMarked] = useState<ReadonlyMap<string, Entry>>(new Map());
  const [dialog, show] = useDialog();
  const pages = usePages((marker, signal) => api.listEntries(share, path, snapshot, search, marker, signal), [share, path, snapshot, search]);
  const snapshots = useLoad(async () => (await api.listShares(share, "", true)).items.filter((one) => one.name === share && one.snapshot && !one.deleted), [share]);
  useEffect(() => setMarked(new Map()), [share, path, snapshot, search]);

  const openRow = (entry: Entry) => (entry.isDirectory ? (setSearch(""), go("data", "file", share, joined(path, entry.name))) : go("data", "file", share, path, entry.name));
  const mark = (entry: Entry) => {
    const next = new Map(marked);
    if (!next.delete(entry.name)) next.set(entry.name, entry);
    setMarked(next);
  };
  const upload = (files: Chosen[]) => {
    if (files.length === 0) return;
    begin(files, (one, overwrite, signal, onSent) => put(share, joined(path, one.name), one.file, overwrite, signal, onSent), pages.reload);
  };
  const takeSnapshot = async () => {
    try {
      await api.snapshotShare(share);
      good("Took a snapshot of the whole share.");
      snapshots.reload();
    } catch (why) {
      bad(why);
    }
  };
  const openEntry = open ? (pages.items.all().find((one) => one.name === open) ?? { name: open, isDirectory: false, size: 0, modified: "", id: "" }) : undefined;
  return (
    <>
      <div class="bar">
        <BackToList />
        <Crumbs parts={crumbs(share, path)} />
        {snapshot && <Badge tone="info">snapshot of {time(snapshot)}</Badge>}
        <span class="space" />
        <NameFilter value={search} onInput={setSearch} />
        {marked.size > 0 ? (
          <>
            <Badge tone="info">{count(marked.size)} selected</Badge>
            <button class="warn" onClick={() => removeDialog(share, path, [...marked.values()], () => (setMarked(new Map()), pages.reload()))}>
              Delete…
            </button>
          </>
        ) : (
          <>
            <button disabled={snapshot !== ""} onClick={() => show((close) => <DirectoryDialog share={share} path={path} onClose={close} onDone={pages.reload} />)}>
              New directory…
            </button>
            <UploadMenu onFiles={upload} />
          </>
        )}
        <Menu label={<Icon name="more" />} title="More about this share">
          <button onClick={pages.reload}>Load again</button>
          <button onClick={takeSnapshot}>Take a snapshot of the share</button>
          {snapshots.data?.map((one) => (
            <button key={one.snapshot} onClick={() => (setSnapshot(one.snapshot), go("data", "file", share))}>
              Look at the snapshot of {time(one.snapshot)}
            </button>
          ))}
          {snapshot && <button onClick={() => setSnapshot("")}>Back to the share as it is</button>}
          <button onClick={() => show((close) => <HandlesDialog share={share} path={path} onClose={close} />)}>Open handles…</button>
          <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "file", container: share }} onClose={close} />)}>Make a SAS…</button>
          <button class="warn" onClick={() => deleteShareDialog(share)}>
            Delete the share…
          </button>
        </Menu>
      </div>
      <DropZone onFiles={upload}>
        <Listing pages={pages} count={pages.items.length} search={search}>
          <Rows
            key={`${path}\n${search}\n${snapshot}`}
            rows={pages.items}
            label="Directories and files"
            kind="sized"
            columns={COLUMNS}
            keyOf={(entry) => entry.name}
            open={open}
            cells={(entry) => [
              <span title={entry.name}>
                <Icon name={entry.isDirectory ? "folder" : "file"} />
                {entry.name}
              </span>,
              entry.isDirectory ? "" : <span class="num">{bytes(entry.size)}</span>,
              time(entry.modified),
            ]}
            onOpen={openRow}
            onMark={snapshot ? undefined : mark}
            isMarked={(entry) => marked.has(entry.name)}
            hasMore={pages.hasMore}
            onMore={pages.more}
            onSight={pages.look}
            foot={<span>{pages.hasMore ? `${count(pages.items.length)} loaded; more come as you scroll` : plural(pages.items.length, "name")}</span>}
          />
        </Listing>
        {openEntry && (
          <EntryDetail key={open} now={now} share={share} path={path} entry={openEntry} snapshot={snapshot} onClose={() => go("data", "file", share, path)} onChange={pages.reload} />
        )}
      </DropZone>
      <Uploads />
      {dialog}
    </>
  );
}

/** Makes the directories of a path that are not there, then the file. */
async function put(share: string, path: string, file: File, overwrite: boolean, signal: AbortSignal, onSent: (bytes: number) => void): Promise<void> {
  const parts = path.split("/").slice(0, -1);
  for (let depth = 1; depth <= parts.length; depth++) {
    await api.createDirectory(share, parts.slice(0, depth).join("/")).catch((error: { code?: string }) => {
      if (error.code !== "ResourceAlreadyExists") throw error;
    });
  }
  // A file that is made anew replaces the one of its name without asking: so ask first.
  if (!overwrite && (await api.entryProperties(share, path, false, "").then(() => true, (error: { status?: number }) => error.status !== 404))) {
    throw new ThereAlready();
  }
  await api.uploadFile(share, path, file, signal, onSent);
}

class ThereAlready extends Refused {
  constructor() {
    super(409, "BlobAlreadyExists", "There is a file of this name already.", "");
  }
}

function crumbs(share: string, path: string): [string, string | undefined][] {
  const parts = path.split("/").filter(Boolean);
  return [
    [share, path ? hash("data", "file", share) : undefined],
    ...parts.map((part, index): [string, string | undefined] => [part, index === parts.length - 1 ? undefined : hash("data", "file", share, parts.slice(0, index + 1).join("/"))]),
  ];
}

interface DetailProps {
  now: Signed;
  share: string;
  path: string;
  entry: Entry;
  snapshot: string;
  onClose: () => void;
  onChange: () => void;
}

function EntryDetail({ now, share, path, entry, snapshot, onClose, onChange }: DetailProps) {
  const full = joined(path, entry.name);
  const [dialog, show] = useDialog();
  const { data, error, reload } = useLoad(() => api.entryProperties(share, full, entry.isDirectory, snapshot), [share, full, snapshot]);
  const [pairs, setPairs, isTouched] = useDraft(pairsOf(data?.metadata ?? {}), data);
  const [leaseId, setLeaseId] = useState("");
  const header = (name: string) => data?.headers.get(name) ?? "";
  const act = async (run: () => Promise<unknown>, said: string) => {
    try {
      await run();
      good(said);
      reload();
    } catch (why) {
      bad(why);
    }
  };
  const state = header("x-ms-lease-state");
  return (
    <aside class="detail" aria-label={`File ${entry.name}`}>
      <header>
        <h2>{entry.name}</h2>
        <button class="bare" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="inside">
        {error !== undefined && <Trouble error={error} retry={reload} />}
        {data && (
          <>
            <div class="actions">
              <a class="button" href={address("file", `${encodePath(share)}/${encodePath(full)}`, { sharesnapshot: snapshot || undefined })} download={entry.name}>
                Download
              </a>
              {!snapshot && <button onClick={() => show((close) => <RenameDialog share={share} from={full} onClose={close} onDone={() => (onClose(), onChange())} />)}>Rename…</button>}
              <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "file", container: share, name: full }} onClose={close} />)}>SAS…</button>
              <button onClick={() => show((close) => <HandlesDialog share={share} path={full} onClose={close} />)}>Handles…</button>
              {!snapshot && (
                <button class="warn" onClick={() => removeDialog(share, path, [entry], () => (onClose(), onChange()))}>
                  Delete…
                </button>
              )}
            </div>
            <Facts
              facts={[
                ["Size", `${bytes(Number(header("content-length")))} (${header("content-length")} bytes)`],
                ["Type", header("content-type")],
                ["ETag", <Copyable text={data.etag} label="ETag" />],
                ["Written", time(header("x-ms-file-last-write-time"))],
                ["Created", time(header("x-ms-file-creation-time"))],
                ["Changed", time(header("x-ms-file-change-time"))],
                ["Attributes", header("x-ms-file-attributes")],
                ["File id", header("x-ms-file-id")],
                ["Lease", state && <Badge tone={state === "available" ? "good" : "warn"}>{state}</Badge>],
              ]}
            />
            {!snapshot && (
              <>
                <h3>Metadata</h3>
                <PairEditor pairs={pairs} onChange={setPairs} name="metadata" />
                <div class="actions">
                  <button class="main" disabled={!isTouched} onClick={() => act(() => api.setEntryMetadata(share, full, entry.isDirectory, recordOf(pairs)), "Saved.")}>
                    Save
                  </button>
                </div>
                <h3>Lease</h3>
                {leaseId && (
                  <p>
                    Lease id <Copyable text={leaseId} label="lease id" />
                  </p>
                )}
                <div class="actions">
                  <button disabled={state === "leased"} onClick={() => act(async () => setLeaseId(await api.leaseFile(share, full, "acquire")), "You hold the lease, without an end.")}>
                    Acquire
                  </button>
                  <button disabled={!leaseId} onClick={() => act(async () => (await api.leaseFile(share, full, "release", leaseId), setLeaseId("")), "The lease is free.")}>
                    Release
                  </button>
                  <button
                    class="warn"
                    disabled={state !== "leased"}
                    onClick={() =>
                      danger({
                        title: `Break the lease of ${entry.name}?`,
                        says: <p>Its holder loses the lease at once, is not told, and finds out when its next write is refused.</p>,
                        action: "Break the lease",
                        word: entry.name,
                        run: async () => {
                          await api.leaseFile(share, full, "break");
                          setLeaseId("");
                          good("The lease is broken.");
                          reload();
                        },
                      })
                    }
                  >
                    Break…
                  </button>
                </div>
              </>
            )}
            {mayRecord(now) && (
              <>
                <h3>What happened to it</h3>
                <ObjectTimeline object={`file/${accountOf(now)}/${share}/${full}`} />
              </>
            )}
          </>
        )}
      </div>
      {dialog}
    </aside>
  );
}

function DirectoryDialog({ share, path, onClose, onDone }: { share: string; path: string; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const make = async () => {
    await api.createDirectory(share, joined(path, name));
    good(`Made the directory ${name}.`);
    onDone();
  };
  return (
    <FormDialog title="New directory" action="Create" onClose={onClose} onSubmit={make} isReady={name !== ""}>
      <label>
        Name
        <input value={name} autofocus onInput={(event) => setName(event.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

function RenameDialog({ share, from, onClose, onDone }: { share: string; from: string; onClose: () => void; onDone: () => void }) {
  const [to, setTo] = useState(from);
  const rename = async () => {
    await api.rename(share, from, to, false);
    good(`It is called ${to} now.`);
    onDone();
  };
  return (
    <FormDialog title="Rename or move" action="Rename" onClose={onClose} onSubmit={rename} isReady={to !== "" && to !== from}>
      <label>
        Path in the share
        <input value={to} autofocus onInput={(event) => setTo(event.currentTarget.value)} />
        <span class="fine">Nothing is replaced: if there is one of that name, this is refused.</span>
      </label>
    </FormDialog>
  );
}

function HandlesDialog({ share, path, onClose }: { share: string; path: string; onClose: () => void }) {
  const { data, error, reload } = useLoad(() => api.listHandles(share, path), [share, path]);
  const close = (id: string, what: string) =>
    danger({
      title: `Close ${what} by force?`,
      says: <p>The client that holds it is not asked. What it has not written yet is lost to it, and its next use of the handle fails.</p>,
      action: "Close by force",
      run: async () => {
        const closed = await api.closeHandle(share, path, id);
        good(`Closed ${plural(closed, "handle")}.`);
        reload();
      },
    });
  return (
    <Dialog title={`Handles in ${path || share}`} onClose={onClose} isWide>
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data && data.length === 0 && <Empty>Nobody has anything open here.</Empty>}
      {data && data.length > 0 && (
        <>
          <table class="lines">
            <thead>
              <tr>
                <th>Path</th>
                <th>Client</th>
                <th>Rights</th>
                <th>Since</th>
                <th>Actions</th>
              </tr>
            </thead>
            <tbody>
              {data.map((handle) => (
                <tr key={handle.id}>
                  <td class="wrap">{handle.path || "/"}</td>
                  <td>{handle.client}</td>
                  <td>{handle.rights}</td>
                  <td>{time(handle.opened)}</td>
                  <td>
                    <button class="warn" onClick={() => close(handle.id, "this handle")}>
                      Close…
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <footer>
            <button class="warn" onClick={() => close("*", `all ${data.length} handles`)}>
              Close all…
            </button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function removeDialog(share: string, path: string, entries: Entry[], after: () => void): void {
  const directories = entries.filter((entry) => entry.isDirectory);
  danger({
    title: `Delete ${plural(entries.length, "item")}?`,
    says: (
      <>
        <p>{entries.map((entry) => entry.name).slice(0, 8).join(", ")}{entries.length > 8 ? ` and ${entries.length - 8} more` : ""} will be deleted{directories.length ? ", directories with everything in them" : ""}.</p>
        <p>It cannot be undone. Snapshots of the share keep what they have.</p>
      </>
    ),
    action: "Delete",
    word: directories.length ? share : undefined,
    run: async () => {
      const failed = await each(entries, (entry) => removeTree(share, joined(path, entry.name), entry.isDirectory));
      after();
      if (failed.length) throw failed[0];
      good(`Deleted ${plural(entries.length, "item")}.`);
    },
  });
}

/** A directory is deleted when it is empty: so what is in it goes first. */
async function removeTree(share: string, path: string, isDirectory: boolean): Promise<void> {
  if (isDirectory) {
    for (;;) {
      const page = await api.listEntries(share, path, "", "", "");
      if (page.items.length === 0) break;
      for (const entry of page.items) await removeTree(share, joined(path, entry.name), entry.isDirectory);
    }
  }
  await api.removeEntry(share, path, isDirectory);
}

function deleteShareDialog(share: string): void {
  danger({
    title: `Delete the share ${share}?`,
    says: <p>The share, its files and its snapshots will be deleted. Where soft delete of shares is on it can be restored for some time; otherwise not.</p>,
    action: "Delete the share",
    word: share,
    run: async () => {
      await api.deleteShare(share);
      good(`Deleted ${share}.`);
      noteChange();
      go("data");
    },
  });
}
