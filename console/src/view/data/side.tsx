// The lists of containers, shares, queues and tables. Each loads a page at a time, and can be narrowed by the beginning of the name.
import { useEffect, useState } from "preact/hooks";
import { createContainer, listContainers, restoreContainer } from "../../api/blob";
import { createShare, listShares, restoreShare } from "../../api/file";
import { createQueue, listQueues } from "../../api/queue";
import { createTable, listTables } from "../../api/table";
import { FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import type { IconName } from "../../ui/icon";
import { bad, good, words } from "../../ui/notes";
import { go, hash } from "../../ui/route";
import { Store, useStore } from "../../ui/store";
import type { Signed } from "../session";

type Kind = "blob" | "file" | "queue" | "table";

interface Item {
  name: string;
  mark?: string;
  /** It can be brought back. */
  deleted?: { version: string };
}

interface Listing {
  items: Item[];
  next: string;
}

/** So many of a list are shown until more are asked for. */
const SHORT = 10;

const KINDS: { kind: Kind; view?: string; title: string; one: string; icon: IconName; rule: string }[] = [
  { kind: "blob", title: "Containers", one: "container", icon: "container", rule: "3 to 63 lower-case letters, digits and single hyphens" },
  { kind: "file", title: "Shares", one: "share", icon: "share", rule: "3 to 63 lower-case letters, digits and single hyphens" },
  { kind: "queue", title: "Queues", one: "queue", icon: "queue", rule: "3 to 63 lower-case letters, digits and single hyphens" },
  { kind: "table", title: "Tables", one: "table", icon: "table", rule: "3 to 63 letters and digits, beginning with a letter" },
];

/** What containers are in an account with a hierarchical namespace. */
const LAKE = { ...KINDS[0]!, view: "lake", title: "File systems", one: "file system" };

/** Counts changes of what there is, so that the lists load again. */
export const changed = new Store(0);
export const noteChange = (): void => changed.change((count) => count + 1);

async function list(kind: Kind, prefix: string, next: string, deleted: boolean, only?: string | null): Promise<Listing> {
  // A SAS for one container may not list the others.
  if (only) return { items: [{ name: only }], next: "" };
  switch (kind) {
    case "blob": {
      const page = await listContainers(prefix, next, deleted);
      return { next: page.next, items: page.items.map((one) => ({ name: one.name, mark: one.leaseState === "leased" ? "leased" : one.access ? "public" : undefined, deleted: one.deleted ? { version: one.version } : undefined })) };
    }
    case "file": {
      const page = await listShares(prefix, next, deleted);
      const items = page.items.filter((one) => !one.snapshot);
      return { next: page.next, items: items.map((one) => ({ name: one.name, deleted: one.deleted ? { version: one.version } : undefined })) };
    }
    case "queue":
      return listQueues(prefix, next);
    case "table":
      return listTables(prefix, next);
  }
}

export function Side({ now, kind, name }: { now: Signed; kind: string; name: string }) {
  const [prefix, setPrefix] = useState("");
  const [deleted, setDeleted] = useState(false);
  const only = now.session.sas?.service;
  const isOpen = name !== "" || kind === "sas";
  return (
    <nav class={`side${isOpen ? " hidden" : ""}`} aria-label="What the account holds">
      <input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value={prefix} onInput={(event) => setPrefix(event.currentTarget.value)} />
      {KINDS.filter((one) => !only || only === one.kind).map((one) => (
        <Group key={one.kind} {...(one.kind === "blob" && now.server.hierarchical ? LAKE : one)} now={now} prefix={prefix} deleted={deleted} open={kind === one.kind || (kind === "lake" && one.kind === "blob") ? name : ""} />
      ))}
      <h3>Tools</h3>
      <a href={hash("data", "sas")} aria-current={kind === "sas" ? "page" : undefined}>
        <Icon name="key" /> SAS maker and decoder
      </a>
      <label class="check fine">
        <input type="checkbox" checked={deleted} onChange={(event) => setDeleted(event.currentTarget.checked)} /> Show what was deleted
      </label>
    </nav>
  );
}

function Group(props: (typeof KINDS)[number] & { now: Signed; prefix: string; deleted: boolean; open: string }) {
  const { kind, prefix, deleted, open } = props;
  const [listing, setListing] = useState<Listing>();
  const [error, setError] = useState<unknown>();
  const [dialog, show] = useDialog();
  const [isWhole, setWhole] = useState(false);
  const turn = useStore(changed);
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      list(kind, prefix, "", deleted, props.now.session.sas?.container).then(
        (found) => isOver || (setListing(found), setError(undefined)),
        (why) => isOver || setError(why),
      );
    }, prefix ? 200 : 0);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [kind, prefix, deleted, turn]);
  const more = async () => {
    try {
      const page = await list(kind, prefix, listing!.next, deleted);
      setListing({ items: [...listing!.items, ...page.items], next: page.next });
    } catch (why) {
      bad(why);
    }
  };
  const restore = async (item: Item) => {
    try {
      await (kind === "blob" ? restoreContainer(item.name, item.deleted!.version) : restoreShare(item.name, item.deleted!.version));
      good(`${item.name} is back, with what was in it.`);
      noteChange();
    } catch (why) {
      bad(why);
    }
  };
  const all = listing?.items ?? [];
  // One long list should not push the others out of sight.
  const shown = isWhole || prefix ? all : all.filter((item, index) => index < SHORT || item.name === open);
  return (
    <section>
      <h3>
        {props.title}
        <button class="bare" aria-label={`New ${props.one}`} title={`New ${props.one}`} onClick={() => show((close) => <Create {...props} onClose={close} />)}>
          +
        </button>
      </h3>
      {error !== undefined && <div class="fine">{words(error)}</div>}
      {shown.map((item) =>
        item.deleted ? (
          <a key={item.name + item.deleted.version} href="#" onClick={(event) => (event.preventDefault(), void restore(item))} title={`Restore ${item.name}`}>
            <Icon name="restore" />
            <span class="name deleted">{item.name}</span> <span class="fine">restore</span>
          </a>
        ) : (
          <a key={item.name} href={hash("data", props.view ?? kind, item.name)} aria-current={item.name === open ? "page" : undefined}>
            <Icon name={props.icon} />
            <span class="name">{item.name}</span>
            {item.mark && <span class="badge warn">{item.mark}</span>}
          </a>
        ),
      )}
      {listing && listing.items.length === 0 && !error && <div class="fine">none</div>}
      {shown.length < all.length && (
        <button class="link fine" onClick={() => setWhole(true)}>
          all {all.length}{listing?.next ? " and more" : ""}…
        </button>
      )}
      {listing?.next && shown.length === all.length && (
        <button class="link fine" onClick={more}>
          more…
        </button>
      )}
      {dialog}
    </section>
  );
}

function Create({ kind, view, one, rule, onClose }: (typeof KINDS)[number] & { onClose: () => void }) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState("");
  const [quota, setQuota] = useState("");
  const create = async () => {
    if (kind === "blob") await createContainer(name, access);
    else if (kind === "file") await createShare(name, quota);
    else if (kind === "queue") await createQueue(name);
    else await createTable(name);
    good(`Made the ${one} ${name}.`);
    noteChange();
    go("data", view ?? kind, name);
  };
  return (
    <FormDialog title={`New ${one}`} action="Create" onClose={onClose} onSubmit={create} isReady={name !== ""}>
      <label>
        Name
        <input value={name} autofocus autocomplete="off" spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />
        <span class="fine">{rule}</span>
      </label>
      {kind === "blob" && (
        <label>
          Who may read without signing in
          <select value={access} onChange={(event) => setAccess(event.currentTarget.value)}>
            <option value="">nobody</option>
            <option value="blob">anybody, blobs that they know the name of</option>
            <option value="container">anybody, and list what is there</option>
          </select>
        </label>
      )}
      {kind === "file" && (
        <label>
          Quota in GiB
          <input type="number" min="1" value={quota} placeholder="no less than 1; empty for the default" onInput={(event) => setQuota(event.currentTarget.value)} />
        </label>
      )}
    </FormDialog>
  );
}
