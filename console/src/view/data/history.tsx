// The past of a blob: its versions and snapshots, newest first. Any of them can be looked at, made the blob again, or deleted.
import * as api from "../../api/blob";
import { danger } from "../../ui/dialog";
import { Empty, good, Trouble } from "../../ui/notes";
import { Badge } from "../../ui/parts";
import { bytes, time } from "../../ui/say";
import { useLoad } from "../../ui/store";
import { downloadAddress } from "./container";

interface Props {
  container: string;
  name: string;
  onOpen: (moment: api.Moment) => void;
  onChange: () => void;
}

const momentOf = (one: api.Listed): api.Moment => (one.snapshot ? { snapshot: one.snapshot } : one.isCurrent ? {} : { versionid: one.version });

async function past(container: string, name: string, signal: AbortSignal): Promise<api.Listed[]> {
  const found: api.Listed[] = [];
  for (let marker = ""; ; ) {
    const page = await api.listBlobs(container, { prefix: name, versions: true, snapshots: true, deleted: true, marker }, signal);
    found.push(...page.items.filter((one) => one.name === name));
    // Names that only begin alike come later.
    if (!page.next || page.items.some((one) => one.name > name)) break;
    marker = page.next;
  }
  const at = (one: api.Listed) => one.snapshot || one.version || (one.isCurrent ? "9" : "");
  return found.sort((one, other) => Number(other.isCurrent && !other.snapshot) - Number(one.isCurrent && !one.snapshot) || at(other).localeCompare(at(one)));
}

export function History({ container, name, onOpen, onChange }: Props) {
  const { data, error, reload } = useLoad((signal) => past(container, name, signal), [container, name]);
  const promote = (one: api.Listed) =>
    danger({
      title: "Make this the blob again?",
      says: <p>The content of {time(one.snapshot || one.version)} replaces what is in the blob now. With versioning on, what is there now stays as a version.</p>,
      action: "Restore",
      run: async () => {
        await api.copy(container, name, container, name, momentOf(one), true);
        good("Restored.");
        reload();
        onChange();
      },
    });
  const remove = (one: api.Listed) =>
    danger({
      title: `Delete this ${one.snapshot ? "snapshot" : "version"}?`,
      says: <p>The content of {time(one.snapshot || one.version)} will be gone. The blob itself stays.</p>,
      action: "Delete",
      run: async () => {
        await api.remove(container, name, momentOf(one));
        reload();
      },
    });
  if (error) return <Trouble error={error} retry={reload} />;
  if (!data) return <p class="loading">Loading…</p>;
  if (data.length <= 1) {
    return <Empty>No versions or snapshots. Versions are kept when versioning is on; a snapshot can be taken at any time.</Empty>;
  }
  return (
    <table class="lines">
      <thead>
        <tr>
          <th>When</th>
          <th>What</th>
          <th>Size</th>
          <th>
            <span class="fine">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {data.map((one) => {
          const isNow = one.isCurrent && !one.snapshot && !one.deleted;
          return (
            <tr key={one.snapshot + one.version + one.isCurrent}>
              <td>{time(one.snapshot || one.version || one.modified)}</td>
              <td>{isNow ? <Badge tone="good">now</Badge> : one.snapshot ? "snapshot" : "version"} {one.deleted && <Badge tone="bad">deleted</Badge>}</td>
              <td>{bytes(one.size)}</td>
              <td>
                {!isNow && !one.deleted && (
                  <span class="actions">
                    <button class="link" onClick={() => onOpen(momentOf(one))}>
                      Look
                    </button>
                    <a href={downloadAddress(container, name, momentOf(one))} download>
                      Download
                    </a>
                    <button class="link" onClick={() => promote(one)}>
                      Restore
                    </button>
                    <button class="link" onClick={() => remove(one)}>
                      Delete
                    </button>
                  </span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
