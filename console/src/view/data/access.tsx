// Who may do what to one path of a file system: its owner, its group, and the entries of its access control list. What was read is written back only
// if nobody has changed it meanwhile.
import { useState } from "preact/hooks";
import * as api from "../../api/lake";
import { KINDS, parseAcl, writeAcl } from "../../api/lake";
import type { AclEntry, Recursion } from "../../api/lake";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { good, Trouble, words } from "../../ui/notes";
import { useDraft } from "../../ui/parts";
import { plural } from "../../ui/say";
import { useLoad } from "../../ui/store";

/** In words: who an entry is for. */
const whom = (one: AclEntry): string => {
  if (one.kind === "mask") return "most that named ones get";
  if (one.kind === "other") return "everybody else";
  return one.id ? `${one.kind} ${one.id}` : one.kind === "user" ? "the owner" : "the owning group";
};

export function AccessDialog({ system, path, isDirectory, onClose }: { system: string; path: string; isDirectory: boolean; onClose: () => void }) {
  const { data, error, reload } = useLoad(() => api.access(system, path), [system, path]);
  const [entries, setEntries, isTouched] = useDraft(parseAcl(data?.acl ?? ""), data);
  const [owner, setOwner, isOwnerTouched] = useDraft(data?.owner ?? "", data);
  const [group, setGroup, isGroupTouched] = useDraft(data?.group ?? "", data);
  const [refused, setRefused] = useState<unknown>();
  const [mode, setMode] = useState<Recursion>("modify");
  const attempt = async (run: () => Promise<string>) => {
    setRefused(undefined);
    try {
      good(await run());
      reload();
    } catch (why) {
      setRefused(why);
    }
  };
  const save = () =>
    attempt(async () => {
      await api.setAccess(system, path, writeAcl(entries), isOwnerTouched ? owner : undefined, isGroupTouched ? group : undefined, data!.etag);
      return "Saved.";
    });
  const below = () =>
    attempt(async () => {
      // A mask is reckoned anew for each path.
      const said = mode === "remove" ? entries.filter((one) => one.id).map((one) => `${one.isDefault ? "default:" : ""}${one.kind}:${one.id}`).join(",") : writeAcl(entries);
      const { directories, files } = await api.setAccessBelow(system, path, mode, said);
      return `Changed ${plural(directories, "directory", "directories")} and ${plural(files, "file")}.`;
    });
  return (
    <Dialog title={`Access to ${path || "/"}`} onClose={onClose} isWide>
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data && (
        <>
          <p class="fine">
            These rights are for callers with a token whose roles do not already allow it. An account key passes them by. Now: <code>{data.permissions}</code>
          </p>
          <div class="two">
            <label>
              Owner
              <input value={owner} onInput={(event) => setOwner(event.currentTarget.value)} />
            </label>
            <label>
              Owning group
              <input value={group} onInput={(event) => setGroup(event.currentTarget.value)} />
            </label>
          </div>
          <Entries title="This path" entries={entries} isDefault={false} onChange={setEntries} />
          {isDirectory && <Entries title="Given to what is made in it" entries={entries} isDefault onChange={setEntries} />}
          {refused !== undefined && (
            <p class="wrong" role="alert">
              {words(refused)}
            </p>
          )}
          <footer>
            {isDirectory && (
              <>
                <select aria-label="What to do below" value={mode} onChange={(event) => setMode(event.currentTarget.value as Recursion)}>
                  <option value="modify">add these to the lists below</option>
                  <option value="set">replace the lists below by these</option>
                  <option value="remove">take the named ones out of the lists below</option>
                </select>
                <button type="button" class="warn" onClick={below}>
                  Do so for everything below
                </button>
              </>
            )}
            <span class="space" />
            <button type="button" onClick={onClose}>
              Close
            </button>
            <button type="button" class="main" disabled={!isTouched && !isOwnerTouched && !isGroupTouched} onClick={save}>
              Save
            </button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function Entries({ title, entries, isDefault, onChange }: { title: string; entries: AclEntry[]; isDefault: boolean; onChange: (entries: AclEntry[]) => void }) {
  const [kind, setKind] = useState<"user" | "group">("user");
  const [id, setId] = useState("");
  const shown = entries.filter((one) => one.isDefault === isDefault);
  const set = (one: AclEntry, to: Partial<AclEntry>) => onChange(entries.map((other) => (other === one ? { ...one, ...to } : other)));
  const blank = { isDefault, id: "", read: true, write: false, execute: true };
  const add = () => {
    const isThere = (one: AclEntry) => shown.some((other) => other.kind === one.kind && other.id === one.id);
    // A list with names has a mask, and defaults have all three of the owner, the group and the others.
    const basics: AclEntry[] = KINDS.map((basic) => ({ ...blank, kind: basic }));
    const wanted = isDefault ? basics : basics.filter((one) => one.kind === "mask");
    const named: AclEntry = { ...blank, kind, id: id.trim() };
    onChange([...entries, ...wanted.filter((one) => !isThere(one)), ...(isThere(named) ? [] : [named])]);
    setId("");
  };
  return (
    <fieldset>
      <legend>{title}</legend>
      <table class="lines">
        <thead>
          <tr>
            <th>Who</th>
            <th>Read</th>
            <th>Write</th>
            <th>{isDefault ? "Enter, or run" : "Enter"}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {shown.map((one) => (
            <tr key={`${one.kind}:${one.id}`}>
              <td class="wrap">{whom(one)}</td>
              {(["read", "write", "execute"] as const).map((right) => (
                <td key={right}>
                  <input type="checkbox" checked={one[right]} aria-label={`${isDefault ? "Default: " : ""}${whom(one)}: ${right}`} onChange={(event) => set(one, { [right]: event.currentTarget.checked })} />
                </td>
              ))}
              <td>
                {one.id && (
                  <button type="button" class="bare" aria-label={`${isDefault ? "Default: " : ""}Remove ${whom(one)}`} onClick={() => onChange(entries.filter((other) => other !== one))}>
                    <Icon name="close" />
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="pair">
        <select aria-label={`${isDefault ? "Default: " : ""}Kind of the new entry`} value={kind} onChange={(event) => setKind(event.currentTarget.value as "user" | "group")}>
          <option value="user">user</option>
          <option value="group">group</option>
        </select>
        <input aria-label={`${isDefault ? "Default: " : ""}Object id of the new entry`} placeholder="object id" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        <button type="button" disabled={!id.trim()} aria-label={`${isDefault ? "Default: " : ""}Add the entry`} onClick={add}>
          Add
        </button>
      </div>
    </fieldset>
  );
}
