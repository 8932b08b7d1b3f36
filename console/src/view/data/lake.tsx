// One file system of an account with a hierarchical namespace: directories that are real, renames in one step, and access control.
import { useEffect, useState } from "preact/hooks";
import { deleteContainer, upload as put } from "../../api/blob";
import * as api from "../../api/lake";
import type { Path } from "../../api/lake";
import { danger, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { good } from "../../ui/notes";
import { usePages } from "../../ui/pages";
import { Badge, Crumbs, Menu } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { Rows } from "../../ui/rows";
import { bytes, count, leaf, plural, time } from "../../ui/say";
import { BackToList } from "../data";
import type { Signed } from "../session";
import { AccessDialog } from "./access";
import { BlobDetail } from "./blob";
import { ContainerDialog } from "./containerdialog";
import { DropZone, Listing, UploadMenu } from "./listing";
import { SasDialog } from "./sas";
import { noteChange } from "./side";
import { begin, Uploads } from "./uploads";
import type { Chosen } from "./uploads";

const COLUMNS = [
  ["Name", "minmax(0, 1fr)"],
  ["Size", "90px"],
  ["Modified", "160px"],
  ["Owner", "minmax(0, 150px)"],
  ["Rights", "110px"],
] as const;

const joined = (directory: string, name: string): string => (directory ? `${directory}/${name}` : name);
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

export function LakeView({ now, system, path, open }: { now: Signed; system: string; path: string; open: string }) {
  const [marked, setMarked] = useState<ReadonlyMap<string, Path>>(new Map());
  const [dialog, show] = useDialog();
  const pages = usePages((marker, signal) => api.listPaths(system, path, marker, signal), [system, path]);
  useEffect(() => setMarked(new Map()), [system, path]);
  const openRow = (row: Path) => (row.isDirectory ? go("data", "lake", system, row.path) : go("data", "lake", system, path, row.path));
  const mark = (row: Path) => {
    const next = new Map(marked);
    if (!next.delete(row.path)) next.set(row.path, row);
    setMarked(next);
  };
  const upload = (files: Chosen[]) => {
    if (files.length === 0) return;
    begin(files, (one, overwrite, signal, onSent) => put(system, joined(path, one.name), one.file, overwrite, signal, onSent), pages.reload);
  };
  const one = marked.size === 1 ? [...marked.values()][0]! : undefined;
  const renamed = (to: string) => (setMarked(new Map()), pages.reload(), good(`It is called ${to} now.`));
  return (
    <>
      <div class="bar">
        <BackToList />
        <Crumbs parts={crumbs(system, path)} />
        <span class="space" />
        {marked.size > 0 ? (
          <>
            <Badge tone="info">{count(marked.size)} selected</Badge>
            {one && <button onClick={() => show((close) => <RenameDialog system={system} from={one.path} onClose={close} onDone={renamed} />)}>Rename…</button>}
            {one && <button onClick={() => show((close) => <AccessDialog system={system} path={one.path} isDirectory={one.isDirectory} onClose={() => (close(), pages.reload())} />)}>Access…</button>}
            <button class="warn" onClick={() => removeDialog(system, [...marked.values()], () => (setMarked(new Map()), pages.reload()))}>
              Delete…
            </button>
            <button onClick={() => setMarked(new Map())}>Clear</button>
          </>
        ) : (
          <>
            <button onClick={() => show((close) => <DirectoryDialog system={system} path={path} onClose={close} onDone={pages.reload} />)}>New directory…</button>
            <UploadMenu onFiles={upload} />
          </>
        )}
        <Menu label={<Icon name="more" />} title="More about this file system">
          <button onClick={pages.reload}>Load again</button>
          <button onClick={() => show((close) => <AccessDialog system={system} path={path} isDirectory onClose={close} />)}>Access to this directory…</button>
          {path && <button onClick={() => show((close) => <RenameDialog system={system} from={path} onClose={close} onDone={(to, where) => (good(`It is called ${to} now.`), go("data", "lake", where, to))} />)}>Rename this directory…</button>}
          <button onClick={() => go("data", "blob", system)}>Show it as a container of blobs</button>
          <button onClick={() => show((close) => <ContainerDialog container={system} onClose={close} />)}>Properties and metadata…</button>
          <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "blob", container: system }} onClose={close} />)}>Make a SAS…</button>
          <button class="warn" onClick={() => deleteDialog(system)}>
            Delete the file system…
          </button>
        </Menu>
      </div>
      <DropZone onFiles={upload}>
        <Listing pages={pages} count={pages.items.length} search="">
          <Rows
            key={path}
            rows={pages.items}
            label="Directories and files"
            kind="blobs sized"
            columns={COLUMNS}
            keyOf={(row) => row.path}
            open={open}
            cells={(row) => [
              <span title={row.path}>
                <Icon name={row.isDirectory ? "folder" : "file"} />
                {row.name}
              </span>,
              row.isDirectory ? "" : <span class="num">{bytes(row.size)}</span>,
              time(row.modified),
              row.owner,
              <code>{row.permissions}</code>,
            ]}
            onOpen={openRow}
            onMark={mark}
            isMarked={(row) => marked.has(row.path)}
            hasMore={pages.hasMore}
            onMore={pages.more}
            onSight={pages.look}
            foot={<span>{pages.hasMore ? `${count(pages.items.length)} loaded; more come as you scroll` : plural(pages.items.length, "name")}</span>}
          />
        </Listing>
        {open && <BlobDetail key={open} now={now} container={system} name={open} onClose={() => go("data", "lake", system, path)} onChange={pages.reload} />}
      </DropZone>
      <Uploads />
      {dialog}
    </>
  );
}

function crumbs(system: string, path: string): [string, string | undefined][] {
  const parts = path.split("/").filter(Boolean);
  return [
    [system, path ? hash("data", "lake", system) : undefined],
    ...parts.map((part, index): [string, string | undefined] => [part, index === parts.length - 1 ? undefined : hash("data", "lake", system, parts.slice(0, index + 1).join("/"))]),
  ];
}

function DirectoryDialog({ system, path, onClose, onDone }: { system: string; path: string; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState("");
  const make = async () => {
    await api.createDirectory(system, joined(path, name));
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

function RenameDialog({ system, from, onClose, onDone }: { system: string; from: string; onClose: () => void; onDone: (to: string, system: string) => void }) {
  const [to, setTo] = useState(from);
  const [where, setWhere] = useState(system);
  const rename = async () => {
    await api.rename(system, from, where, to);
    onDone(to, where);
  };
  return (
    <FormDialog title={`Rename or move ${leaf(from)}`} action="Rename" onClose={onClose} onSubmit={rename} isReady={to !== "" && (to !== from || where !== system)}>
      <label>
        Path
        <input value={to} autofocus onInput={(event) => setTo(event.currentTarget.value)} />
        <span class="fine">{parentOf(to) ? `The directory ${parentOf(to)} has to be there. ` : ""}Nothing is replaced: if there is one of that name, this is refused.</span>
      </label>
      <label>
        File system
        <input value={where} onInput={(event) => setWhere(event.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}

function removeDialog(system: string, rows: Path[], after: () => void): void {
  const directories = rows.filter((row) => row.isDirectory);
  danger({
    title: `Delete ${plural(rows.length, "selected item")}?`,
    says: (
      <>
        <p>{rows.map((row) => row.path).join(", ")} will be deleted{directories.length ? ", with everything in the directories" : ""}.</p>
        <p>Where soft delete is on they can be restored for some time; otherwise not.</p>
      </>
    ),
    action: "Delete",
    word: directories.length ? system : undefined,
    run: async () => {
      for (const row of rows) await api.remove(system, row.path, row.isDirectory);
      after();
      good(`Deleted ${plural(rows.length, "item")}.`);
    },
  });
}

function deleteDialog(system: string): void {
  danger({
    title: `Delete the file system ${system}?`,
    says: <p>The file system and every directory and file in it will be deleted. Where soft delete of containers is on it can be restored for some time; otherwise not.</p>,
    action: "Delete the file system",
    word: system,
    run: async () => {
      await deleteContainer(system);
      good(`Deleted ${system}.`);
      noteChange();
      go("data");
    },
  });
}
