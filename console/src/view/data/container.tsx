// One container: its folders and blobs, a page at a time; uploads, downloads, deletes; and the blob that is open beside the list.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../../api/blob";
import type { Listed } from "../../api/blob";
import { address, encodePath } from "../../api/data";
import { danger, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import type { IconName } from "../../ui/icon";
import { bad, good } from "../../ui/notes";
import { each, usePages } from "../../ui/pages";
import { Badge, Crumbs, Menu } from "../../ui/parts";
import { go, hash } from "../../ui/route";
import { Rows } from "../../ui/rows";
import { bytes, count, leaf, plural, time } from "../../ui/say";
import { BackToList } from "../data";
import type { Signed } from "../session";
import { BlobDetail } from "./blob";
import { ContainerDialog } from "./containerdialog";
import { LeaseDialog } from "./lease";
import { DropZone, Listing, NameFilter, UploadMenu } from "./listing";
import { SasDialog } from "./sas";
import { noteChange } from "./side";
import { begin, Uploads } from "./uploads";
import type { Chosen } from "./uploads";

interface Props {
  now: Signed;
  container: string;
  prefix: string;
  open: string;
}

const COLUMNS = [
  ["Name", "minmax(0, 1fr)"],
  ["Size", "90px"],
  ["Modified", "160px"],
  ["Kind", "minmax(0, 150px)"],
  ["State", "150px"],
] as const;

const keyOf = (one: Listed): string => one.name + (one.deleted ? ` (deleted ${one.deletedAt}${one.version})` : "");

export function ContainerView({ now, container, prefix, open }: Props) {
  const [search, setSearch] = useState("");
  const [deleted, setDeleted] = useState(false);
  const [flat, setFlat] = useState(false);
  const [marked, setMarked] = useState<ReadonlyMap<string, Listed>>(new Map());
  const lastMarked = useRef<string | undefined>(undefined);
  const [dialog, show] = useDialog();
  const pages = usePages(
    async (marker, signal) => {
      const page = await api.listBlobs(container, { prefix: prefix + search, delimiter: flat ? undefined : "/", marker, deleted, versions: deleted }, signal);
      // Among the past only what was deleted is of interest here; older versions of a blob are beside it.
      return deleted ? { ...page, items: withDeleted(page.items) } : page;
    },
    [container, prefix, search, deleted, flat],
  );
  useEffect(() => setMarked(new Map()), [container, prefix, search, deleted, flat]);
  const rows = pages.items;

  const mark = (row: Listed, isRange: boolean) => {
    const next = new Map(marked);
    const [from, to] = [rows.indexOf((one) => keyOf(one) === lastMarked.current), rows.indexOf((one) => one === row)];
    const range = isRange && from >= 0 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [row];
    if (!isWhole(range)) return bad(new Error("Some rows of this range are out of sight and not loaded: select a shorter one."));
    const isOn = !next.has(keyOf(row));
    for (const one of range) isOn ? next.set(keyOf(one), one) : next.delete(keyOf(one));
    lastMarked.current = keyOf(row);
    setMarked(next);
  };
  const openRow = (row: Listed) => {
    if (row.isFolder) return setSearch(""), go("data", "blob", container, row.name);
    if (row.deleted || !row.isCurrent) return offerRestore(row);
    go("data", "blob", container, prefix, row.name);
  };
  const offerRestore = (row: Listed) =>
    danger({
      title: `Restore ${leaf(row.name)}?`,
      says: <p>{row.deleted ? "The blob and its snapshots come back as they were when they were deleted." : "The newest version becomes the blob again. The versions stay."}</p>,
      action: "Restore",
      run: async () => {
        if (row.deleted) await api.undelete(container, row.name);
        else await api.copy(container, row.name, container, row.name, { versionid: row.version }, true);
        good(`${row.name} is back.`);
        pages.reload();
      },
    });
  const upload = (files: Chosen[]) => {
    if (files.length === 0) return;
    begin(files, (one, overwrite, signal, onSent) => api.upload(container, prefix + one.name, one.file, overwrite, signal, onSent), pages.reload);
  };
  const removeMarked = () => removeDialog(container, [...marked.values()], () => (setMarked(new Map()), pages.reload()));
  const tierMarked = async (tier: string) => {
    const blobs = [...marked.values()].filter((one) => !one.isFolder);
    const failed = await each(blobs, (one) => api.setTier(container, one.name, tier));
    failed.length ? bad(failed[0]) : good(`Moved ${plural(blobs.length, "blob")} to ${tier}.`);
    pages.reload();
  };

  return (
    <>
      <div class="bar">
        <BackToList />
        <Crumbs parts={crumbs(container, prefix)} />
        <span class="space" />
        <NameFilter value={search} onInput={setSearch} />
        {marked.size > 0 ? (
          <>
            <Badge tone="info">{count(marked.size)} selected</Badge>
            <Menu label="Tier ▾" title="Move the selected blobs to a tier">
              {["Hot", "Cool", "Cold", "Archive"].map((tier) => (
                <button key={tier} onClick={() => void tierMarked(tier)}>
                  {tier}
                </button>
              ))}
            </Menu>
            <button class="warn" onClick={removeMarked}>
              Delete…
            </button>
            <button onClick={() => setMarked(new Map())}>Clear</button>
          </>
        ) : (
          <UploadMenu onFiles={upload} />
        )}
        <Menu label={<Icon name="more" />} title="More about this container">
          <button onClick={() => setFlat(!flat)}>{flat ? "Show folders" : "Show all names, without folders"}</button>
          <button onClick={() => setDeleted(!deleted)}>{deleted ? "Hide what was deleted" : "Show what was deleted"}</button>
          <button onClick={() => setMarked(new Map(rows.all().map((row) => [keyOf(row), row])))}>Select all that are loaded</button>
          <button onClick={pages.reload}>Load again</button>
          <button onClick={() => show((close) => <ContainerDialog container={container} onClose={close} />)}>Properties and metadata…</button>
          <button onClick={() => show((close) => <LeaseDialog title={container} object={{ container, name: "" }} onClose={close} />)}>Lease…</button>
          <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "blob", container }} onClose={close} />)}>Make a SAS…</button>
          <button class="warn" onClick={() => deleteContainerDialog(container)}>
            Delete the container…
          </button>
        </Menu>
      </div>
      <DropZone onFiles={upload}>
        <Listing pages={pages} count={rows.length} search={search}>
          <Rows
            key={`${prefix}\n${search}\n${deleted}${flat}`}
            rows={rows}
            label="Blobs"
            kind="blobs sized"
            columns={COLUMNS}
            keyOf={keyOf}
            open={open}
            cells={(row) => cells(row, flat ? "" : prefix)}
            onOpen={openRow}
            onMark={mark}
            isMarked={(row) => marked.has(keyOf(row))}
            hasMore={pages.hasMore}
            onMore={pages.more}
            onSight={pages.look}
            foot={
              <span>
                {pages.hasMore ? `${count(rows.length)} loaded; more come as you scroll` : plural(rows.length, "name")}
                {pages.isLoading ? " · loading…" : ""}
              </span>
            }
          />
        </Listing>
        {open && <BlobDetail key={open} now={now} container={container} name={open} onClose={() => go("data", "blob", container, prefix)} onChange={pages.reload} />}
      </DropZone>
      <Uploads />
      {dialog}
    </>
  );
}

const isWhole = <Row,>(range: (Row | undefined)[]): range is Row[] => !range.includes(undefined);

/** Of each blob the one that is, or else the newest that was: versions are listed together, oldest first. */
function withDeleted(all: readonly Listed[]): Listed[] {
  return all.filter((one, index) => one.isFolder || one.deleted || one.isCurrent || all[index + 1]?.name !== one.name);
}

function crumbs(container: string, prefix: string): [string, string | undefined][] {
  const parts = prefix.split("/").filter((part, index, all) => part !== "" || index < all.length - 1);
  const found: [string, string | undefined][] = [[container, prefix ? hash("data", "blob", container) : undefined]];
  parts.forEach((part, index) => {
    const path = parts.slice(0, index + 1).join("/") + "/";
    found.push([part || "(empty)", path === prefix ? undefined : hash("data", "blob", container, path)]);
  });
  return found;
}

function cells(row: Listed, prefix: string) {
  const name = row.name.slice(prefix.length);
  if (row.isFolder) return [<Name icon="folder" text={name} />, "", "", "folder", ""];
  const isGone = row.deleted || !row.isCurrent;
  return [
    <Name icon={ICONS[row.contentType.split("/")[0]!] ?? "file"} text={name} isStruck={isGone} />,
    <span class="num">{bytes(row.size)}</span>,
    time(row.modified),
    row.contentType || row.kind,
    <>
      {isGone && <Badge tone="bad">{row.remainingDays ? `deleted, ${row.remainingDays} days left` : "deleted"}</Badge>}
      {row.leaseState === "leased" && <Badge tone="warn">leased</Badge>} {row.leaseState === "breaking" && <Badge tone="warn">breaking</Badge>}{" "}
      {row.tier && row.tier !== "Hot" && <Badge>{row.archiveStatus ? "rehydrating" : row.tier}</Badge>}
    </>,
  ];
}

const ICONS: Record<string, IconName> = { image: "image", text: "text" };

const Name = ({ icon, text, isStruck }: { icon: IconName; text: string; isStruck?: boolean }) => (
  <span title={text} class={isStruck ? "struck" : undefined}>
    <Icon name={icon} />
    {text}
  </span>
);

function removeDialog(container: string, rows: Listed[], after: () => void): void {
  const folders = rows.filter((row) => row.isFolder);
  const blobs = rows.filter((row) => !row.isFolder && !row.deleted);
  danger({
    title: `Delete ${plural(rows.length, "selected item")}?`,
    says: (
      <>
        <p>
          {plural(blobs.length, "blob")} with their snapshots{folders.length ? `, and everything in ${plural(folders.length, "folder")} (${folders.map((one) => one.name).join(", ")})` : ""} will be deleted.
        </p>
        <p>Where soft delete or versioning is on they can be restored for some time; otherwise not.</p>
      </>
    ),
    action: "Delete",
    word: folders.length ? container : undefined,
    run: async () => {
      let done = 0;
      const failed = await each(blobs, (one) => api.remove(container, one.name));
      done += blobs.length - failed.length;
      for (const folder of folders) {
        for (let marker = ""; ; ) {
          const page = await api.listBlobs(container, { prefix: folder.name, marker, most: 1000 });
          failed.push(...(await each(page.items, (one) => api.remove(container, one.name))));
          done += page.items.length;
          if (!page.next) break;
          marker = page.next;
        }
      }
      after();
      if (failed.length) throw failed[0];
      good(`Deleted ${plural(done, "blob")}.`);
    },
  });
}

function deleteContainerDialog(container: string): void {
  danger({
    title: `Delete the container ${container}?`,
    says: <p>The container and every blob, snapshot and version in it will be deleted. Where soft delete of containers is on it can be restored for some time; otherwise not.</p>,
    action: "Delete the container",
    word: container,
    run: async () => {
      await api.deleteContainer(container);
      good(`Deleted ${container}.`);
      noteChange();
      go("data");
    },
  });
}

/** The address that a link downloads from. */
export const downloadAddress = (container: string, name: string, moment: api.Moment = {}): string =>
  address("blob", `${encodePath(container)}/${encodePath(name)}`, { ...moment });
