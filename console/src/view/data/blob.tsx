// One blob, or one of its snapshots or versions: what it is, what is in it, its past, its lease, who may reach it, and what happened to it. Held true: what is edited is
// written only if the blob is still the one that was read.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import * as api from "../../api/blob";
import { danger, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { bad, good, Trouble } from "../../ui/notes";
import { Badge, Copyable, Facts, Menu, PairEditor, pairsOf, recordOf, Tabs, useDraft } from "../../ui/parts";
import { go } from "../../ui/route";
import { bytes, leaf, time } from "../../ui/say";
import { useLoad } from "../../ui/store";
import { ObjectTimeline } from "../concurrency/timeline";
import { accountOf, mayRecord } from "../session";
import type { Signed } from "../session";
import { downloadAddress } from "./container";
import { History } from "./history";
import { LeasePanel } from "./lease";
import { folderOf } from "./overview";
import { Preview } from "./preview";
import { SasDialog } from "./sas";

interface Props {
  now: Signed;
  container: string;
  name: string;
  onClose: () => void;
  onChange: () => void;
}

type Tab = "overview" | "preview" | "edit" | "history" | "lease" | "timeline";

export function BlobDetail({ now, container, name, onClose, onChange }: Props) {
  const [tab, setTab] = useState<Tab>("overview");
  const [moment, setMoment] = useState<api.Moment>({});
  const [dialog, show] = useDialog();
  const { data, error, reload } = useLoad(() => api.properties(container, name, moment), [container, name, moment.snapshot, moment.versionid]);
  const isPast = Boolean(moment.snapshot || moment.versionid);
  const header = (key: string) => data?.headers.get(key) ?? "";
  const after = () => (reload(), onChange());
  const leaseState = header("x-ms-lease-state");
  const tabs: (readonly [Tab, string])[] = [
    ["overview", "Overview"],
    ["preview", "Preview"],
    ...(isPast ? [] : ([["edit", "Edit"]] as const)),
    ["history", "Versions"],
    ...(isPast ? [] : ([["lease", "Lease"]] as const)),
    ...(mayRecord(now) ? ([["timeline", "Timeline"]] as const) : []),
  ];
  const snapshot = async () => {
    try {
      await api.snapshot(container, name);
      good("Took a snapshot.");
      after();
      setTab("history");
    } catch (why) {
      bad(why);
    }
  };
  return (
    <aside class="detail" aria-label={`Blob ${name}`}>
      <header>
        <div>
          <h2>{leaf(name)}</h2>
          {moment.snapshot && <Badge tone="info">snapshot of {time(moment.snapshot)}</Badge>} {moment.versionid && <Badge tone="info">version of {time(moment.versionid)}</Badge>}
          {isPast && (
            <button class="link fine" onClick={() => setMoment({})}>
              back to the blob
            </button>
          )}
        </div>
        <button class="bare" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <Tabs label="About this blob" names={tabs} now={tab} onPick={setTab} />
      <div class="inside">
        {error !== undefined && <Trouble error={error} retry={reload} />}
        {data && tab === "overview" && (
          <>
            <div class="actions">
              <a class="button" href={downloadAddress(container, name, moment)} download={leaf(name)}>
                Download
              </a>
              <button onClick={() => show((close) => <CopyDialog container={container} name={name} moment={moment} onClose={close} onDone={after} />)}>Copy…</button>
              <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "blob", container, name }} onClose={close} />)}>SAS…</button>
              {!isPast && (
                <Menu label={<Icon name="more" />} title="More about this blob">
                  <button onClick={snapshot}>Take a snapshot</button>
                  {header("x-ms-blob-type") === "BlockBlob" &&
                    ["Hot", "Cool", "Cold", "Archive"]
                      .filter((tier) => tier !== header("x-ms-access-tier"))
                      .map((tier) => (
                        <button key={tier} onClick={() => void moveTo(tier)}>
                          Move to {tier}
                        </button>
                      ))}
                  <button class="warn" onClick={() => deleteDialog(container, name, data.etag, () => (onClose(), onChange()))}>
                    Delete…
                  </button>
                </Menu>
              )}
            </div>
            <Facts facts={facts(data)} />
            {Object.keys(data.metadata).length > 0 && (
              <>
                <h3>Metadata</h3>
                <Facts facts={pairsOf(data.metadata)} />
              </>
            )}
            {Object.keys(data.tags).length > 0 && (
              <>
                <h3>Tags</h3>
                <Facts facts={pairsOf(data.tags)} />
              </>
            )}
          </>
        )}
        {data && tab === "preview" && <Preview container={container} name={name} moment={moment} size={Number(header("content-length"))} type={header("content-type")} />}
        {data && tab === "edit" && <Edit key={data.etag} container={container} name={name} data={data} onDone={after} />}
        {tab === "history" && <History container={container} name={name} onOpen={(next) => (setMoment(next), setTab("overview"))} onChange={after} />}
        {data && tab === "lease" && <LeasePanel object={{ container, name }} state={leaseState} onChange={after} />}
        {tab === "timeline" && <ObjectTimeline object={`blob/${accountOf(now)}/${container}/${name}`} />}
      </div>
      {dialog}
    </aside>
  );

  async function moveTo(tier: string): Promise<void> {
    try {
      await api.setTier(container, name, tier);
      good(tier === "Archive" ? "Archived. It cannot be read until it is brought back to another tier." : `Moved to ${tier}.`);
      after();
    } catch (why) {
      bad(why);
    }
  }
}

function facts(data: api.Properties): [string, ComponentChildren][] {
  const header = (key: string) => data.headers.get(key) ?? "";
  const state = header("x-ms-lease-state");
  return [
    ["Size", `${bytes(Number(header("content-length")))} (${header("content-length")} bytes)`],
    ["Type", header("content-type")],
    ["Kind", header("x-ms-blob-type")],
    ["ETag", <Copyable text={data.etag} label="ETag" />],
    ["Modified", time(header("last-modified"))],
    ["Created", time(header("x-ms-creation-time"))],
    ["Tier", header("x-ms-access-tier") + (header("x-ms-archive-status") ? ` (${header("x-ms-archive-status")})` : "")],
    ["Lease", state && <Badge tone={state === "available" ? "good" : "warn"}>{[state, header("x-ms-lease-duration")].filter(Boolean).join(", ")}</Badge>],
    ["MD5", header("content-md5")],
    ["Encoding", header("content-encoding")],
    ["Language", header("content-language")],
    ["Cache-Control", header("cache-control")],
    ["Disposition", header("content-disposition")],
    ["Version", header("x-ms-version-id")],
    ["Copied from", header("x-ms-copy-source").split("?")[0]],
    ["Copy", [header("x-ms-copy-status"), header("x-ms-copy-progress")].filter(Boolean).join(" ")],
    ["Sequence number", header("x-ms-blob-sequence-number")],
    ["Blocks", header("x-ms-blob-committed-block-count")],
    ["Sealed", header("x-ms-blob-sealed")],
    ["Expires", header("x-ms-expiry-time")],
    ["Immutable until", header("x-ms-immutability-policy-until-date")],
    ["Legal hold", header("x-ms-legal-hold") === "true" ? "yes" : ""],
    ["Key of the customer", header("x-ms-encryption-key-sha256")],
  ];
}

const CONTENT = [
  ["x-ms-blob-content-type", "content-type", "Content type"],
  ["x-ms-blob-content-encoding", "content-encoding", "Content encoding"],
  ["x-ms-blob-content-language", "content-language", "Content language"],
  ["x-ms-blob-content-disposition", "content-disposition", "Content disposition"],
  ["x-ms-blob-cache-control", "cache-control", "Cache control"],
] as const;

function Edit({ container, name, data, onDone }: { container: string; name: string; data: api.Properties; onDone: () => void }) {
  const before = Object.fromEntries(CONTENT.map(([set, got]) => [set, data.headers.get(got) ?? ""]));
  const [content, setContent, contentTouched] = useDraft(before, data.etag);
  const [metadata, setMetadata, metadataTouched] = useDraft(pairsOf(data.metadata), data.etag);
  const [tags, setTags, tagsTouched] = useDraft(pairsOf(data.tags), data.etag);
  const [lease, setLease] = useState("");
  const [error, setError] = useState<unknown>();
  const save = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      let etag = data.etag;
      if (contentTouched) {
        const headers = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== ""));
        const kept = { ...headers, "x-ms-blob-content-md5": data.headers.get("content-md5") ?? undefined };
        etag = (await api.setProperties(container, name, kept, etag, lease || undefined)).headers.get("etag") ?? etag;
      }
      if (metadataTouched) await api.setMetadata(container, name, recordOf(metadata), etag, lease || undefined);
      if (tagsTouched) await api.setTags(container, name, recordOf(tags), lease || undefined);
      good("Saved.");
      onDone();
    } catch (why) {
      setError(why);
    }
  };
  return (
    <form onSubmit={save}>
      <p class="fine">
        Written only if the blob is still the one with ETag <code>{data.etag}</code>.
      </p>
      <h3>Content</h3>
      {CONTENT.map(([key, , label]) => (
        <label key={key}>
          {label}
          <input value={content[key]} onInput={(event) => setContent({ ...content, [key]: event.currentTarget.value })} />
        </label>
      ))}
      <h3>Metadata</h3>
      <PairEditor pairs={metadata} onChange={setMetadata} name="metadata" />
      <h3>Tags</h3>
      {data.tagsKnown ? <PairEditor pairs={tags} onChange={setTags} name="tag" /> : <p class="fine">Your credential does not allow to see tags.</p>}
      {data.headers.get("x-ms-lease-state") === "leased" && (
        <label>
          Lease id
          <input value={lease} spellcheck={false} onInput={(event) => setLease(event.currentTarget.value)} />
          <span class="fine">The blob is leased: only who names the id may write.</span>
        </label>
      )}
      {error !== undefined && <Trouble error={error} retry={onDone} />}
      <div class="actions">
        <button class="main" disabled={!contentTouched && !metadataTouched && !tagsTouched}>
          Save
        </button>
      </div>
    </form>
  );
}

function CopyDialog(props: { container: string; name: string; moment: api.Moment; onClose: () => void; onDone: () => void }) {
  const { container, name, moment } = props;
  const [toContainer, setToContainer] = useState(container);
  const [toName, setToName] = useState(name);
  const [overwrite, setOverwrite] = useState(false);
  const copy = async () => {
    const status = await api.copy(container, name, toContainer, toName, moment, overwrite);
    good(status === "pending" ? "The copy has begun and is still under way." : "Copied.");
    props.onDone();
    go("data", "blob", toContainer, folderOf(toName), toName);
  };
  return (
    <FormDialog title={`Copy ${leaf(name)}`} action="Copy" onClose={props.onClose} onSubmit={copy}>
      <p class="fine">Inside this server: no bytes move.</p>
      <label>
        To container
        <input value={toContainer} onInput={(event) => setToContainer(event.currentTarget.value)} />
      </label>
      <label>
        Name
        <input value={toName} onInput={(event) => setToName(event.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" checked={overwrite} onChange={(event) => setOverwrite(event.currentTarget.checked)} /> Replace what is there already
      </label>
    </FormDialog>
  );
}

function deleteDialog(container: string, name: string, etag: string, after: () => void): void {
  danger({
    title: `Delete ${leaf(name)}?`,
    says: <p>The blob and its snapshots will be deleted, if it is still the one you see. Where soft delete or versioning is on it can be restored for some time; otherwise not.</p>,
    action: "Delete",
    run: async () => {
      await api.remove(container, name, {}, { "if-match": etag });
      good(`Deleted ${name}.`);
      after();
    },
  });
}
