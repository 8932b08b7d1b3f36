// One table: its entities in a grid, narrowed by `$filter`. Held true: an entity is replaced or deleted only if it is still the one in the grid, by its ETag.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "../../api/table";
import type { EdmType, Entity, EntityPage, Value } from "../../api/table";
import { danger, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { bad, Empty, good, Trouble } from "../../ui/notes";
import { each } from "../../ui/pages";
import { Badge, Crumbs, Menu } from "../../ui/parts";
import { go } from "../../ui/route";
import { Rows } from "../../ui/rows";
import { count, plural, time } from "../../ui/say";
import { BackToList } from "../data";
import { accountOf } from "../session";
import type { Signed } from "../session";
import { fromText, toCsv, toJson } from "./exchange";
import { SasDialog } from "./sas";
import { noteChange } from "./side";

const PAGE = 500;
const EXPORT_MAX = 100_000;
const COLUMNS_MAX = 12;

const keyOf = (entity: Entity): string => `${entity.partition}\u0000${entity.row}`;

export function TableView({ now, table }: { now: Signed; table: string }) {
  const [filter, setFilter] = useState("");
  const [asked, setAsked] = useState("");
  const [items, setItems] = useState<Entity[]>([]);
  const [next, setNext] = useState<EntityPage["next"]>();
  const [error, setError] = useState<unknown>();
  const [isLoading, setLoading] = useState(true);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [turn, setTurn] = useState(0);
  const [dialog, show] = useDialog();
  const importInput = useRef<HTMLInputElement>(null);
  const reload = () => setTurn((old) => old + 1);

  useEffect(() => {
    const control = new AbortController();
    setLoading(true);
    setError(undefined);
    api.queryEntities(table, asked, "", PAGE, undefined, control.signal).then(
      (page) => (setItems(page.items), setNext(page.next), setLoading(false), setMarked(new Set())),
      (why) => control.signal.aborted || (setError(why), setItems([]), setNext(undefined), setLoading(false)),
    );
    return () => control.abort();
  }, [table, asked, turn]);

  const more = () => {
    if (isLoading || !next) return;
    setLoading(true);
    api
      .queryEntities(table, asked, "", PAGE, next)
      .then((page) => (setItems((old) => [...old, ...page.items]), setNext(page.next)), bad)
      .finally(() => setLoading(false));
  };
  const names = useMemo(() => [...new Set(items.flatMap((entity) => Object.keys(entity.values)))].slice(0, COLUMNS_MAX), [items]);
  const columns = [
    ["PartitionKey", "minmax(90px, 1fr)"],
    ["RowKey", "minmax(90px, 1fr)"],
    ...names.map((name) => [name, "minmax(80px, 1fr)"] as const),
    ["Timestamp", "150px"],
  ] as const;
  const mark = (entity: Entity) => {
    const chosen = new Set(marked);
    if (!chosen.delete(keyOf(entity))) chosen.add(keyOf(entity));
    setMarked(chosen);
  };
  const edit = (entity?: Entity) => show((close) => <EntityDialog table={table} entity={entity} onClose={close} onDone={reload} />);
  const removeMarked = () => {
    const chosen = items.filter((entity) => marked.has(keyOf(entity)));
    const groups = api.batches(chosen);
    danger({
      title: `Delete ${plural(chosen.length, "entity", "entities")}?`,
      says: (
        <p>
          They go in {plural(groups.length, "transaction")}, one for each partition and hundred: in each all are deleted or, if somebody changed one meanwhile, none. It cannot be undone.
        </p>
      ),
      action: "Delete",
      run: async () => {
        const endpoint = `${now.server.endpoints.table}/${accountOf(now)}`;
        const failed = await each(groups, (group) => api.removeBatch(table, group, endpoint));
        reload();
        if (failed.length) throw failed[0];
        good(`Deleted ${plural(chosen.length, "entity", "entities")}.`);
      },
    });
  };
  const exportAs = async (kind: "csv" | "json") => {
    try {
      const all = [...items];
      for (let at = next; at && all.length < EXPORT_MAX; ) {
        const page = await api.queryEntities(table, asked, "", 1000, at);
        all.push(...page.items);
        at = page.next;
      }
      save(`${table}.${kind}`, kind === "csv" ? toCsv(all) : toJson(all), kind === "csv" ? "text/csv" : "application/json");
      good(`Exported ${plural(all.length, "entity", "entities")}${all.length >= EXPORT_MAX ? ": no more go into one file" : ""}.`);
    } catch (why) {
      bad(why);
    }
  };
  const importFrom = async (file: File | undefined) => {
    if (!file) return;
    try {
      const entities = fromText(file.name, await file.text());
      danger({
        title: `Import ${plural(entities.length, "entity", "entities")}?`,
        says: <p>Each is added to {table}. One that is there already with the same keys is replaced.</p>,
        action: "Import",
        run: async () => {
          const failed = await each(entities, (entity) => api.upsert(table, entity));
          reload();
          if (failed.length) throw failed[0];
          good(`Imported ${plural(entities.length, "entity", "entities")}.`);
        },
      });
    } catch (why) {
      bad(why);
    }
  };
  return (
    <>
      <div class="bar">
        <BackToList />
        <Crumbs parts={[[table, undefined]]} />
        <span class="space" />
        {marked.size > 0 && (
          <>
            <Badge tone="info">{count(marked.size)} selected</Badge>
            <button class="warn" onClick={removeMarked}>
              Delete…
            </button>
          </>
        )}
        <button class="main" onClick={() => edit()}>
          New entity…
        </button>
        <Menu label={<Icon name="more" />} title="More about this table">
          <button onClick={reload}>Load again</button>
          <button onClick={() => setMarked(new Set(items.map(keyOf)))}>Select all that are loaded</button>
          <button onClick={() => importInput.current?.click()}>Import CSV or JSON…</button>
          <button onClick={() => void exportAs("csv")}>Export as CSV</button>
          <button onClick={() => void exportAs("json")}>Export as JSON</button>
          <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "table", container: table }} onClose={close} />)}>Make a SAS…</button>
          <button class="warn" onClick={() => deleteDialog(table)}>
            Delete the table…
          </button>
        </Menu>
        <input ref={importInput} type="file" accept=".csv,.json" hidden aria-label="File to import" onChange={(event) => (void importFrom(event.currentTarget.files?.[0]), (event.currentTarget.value = ""))} />
      </div>
      <form class="bar" onSubmit={(event) => (event.preventDefault(), setAsked(filter), reload())}>
        <label class="fine" for="filter">
          $filter
        </label>
        <input id="filter" class="mono" style={{ flex: "1" }} placeholder="PartitionKey eq 'grey' and lives gt 1" value={filter} spellcheck={false} onInput={(event) => setFilter(event.currentTarget.value)} />
        <button>Query</button>
      </form>
      {error !== undefined ? (
        <Trouble error={error} retry={reload} />
      ) : items.length === 0 && !isLoading && !next ? (
        <Empty>{asked ? "No entity fits the filter." : "The table is empty."}</Empty>
      ) : (
        <Rows
          key={asked}
          rows={items}
          label="Entities"
          columns={columns}
          keyOf={keyOf}
          cells={(entity) => [entity.partition, entity.row, ...names.map((name) => cell(entity.values[name])), <span class="fine">{time(entity.timestamp)}</span>]}
          onOpen={edit}
          onMark={mark}
          isMarked={(entity) => marked.has(keyOf(entity))}
          hasMore={Boolean(next)}
          onMore={more}
          foot={<span>{next ? `${count(items.length)} loaded; more come as you scroll` : plural(items.length, "entity", "entities")}{isLoading ? " · loading…" : ""}</span>}
        />
      )}
      {dialog}
    </>
  );
}

const cell = (value: Value | undefined) => (value ? <span title={`${value.type}: ${value.text}`} class={value.type === "String" ? undefined : "mono"}>{value.text}</span> : <span class="fine">–</span>);

function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface Field {
  name: string;
  type: EdmType;
  text: string;
}

function EntityDialog({ table, entity, onClose, onDone }: { table: string; entity?: Entity; onClose: () => void; onDone: () => void }) {
  const [partition, setPartition] = useState(entity?.partition ?? "");
  const [row, setRow] = useState(entity?.row ?? "");
  const [fields, setFields] = useState<Field[]>(Object.entries(entity?.values ?? {}).map(([name, value]) => ({ name, ...value })));
  const set = (index: number, to: Partial<Field>) => setFields(fields.map((old, at) => (at === index ? { ...old, ...to } : old)));
  const store = async () => {
    const values = Object.fromEntries(fields.filter((field) => field.name).map(({ name, type, text }) => [name, { type, text }]));
    if (entity) await api.replace(table, { ...entity, values });
    else await api.insert(table, { partition, row, values });
    good(entity ? "Replaced the entity." : "Added the entity.");
    onDone();
  };
  const remove = () =>
    danger({
      title: "Delete this entity?",
      says: <p>The entity {partition} / {row} will be deleted, if it is still the one you see. It cannot be undone.</p>,
      action: "Delete",
      run: async () => {
        await api.removeEntity(table, entity!);
        good("Deleted the entity.");
        onClose();
        onDone();
      },
    });
  return (
    <FormDialog title={entity ? "Entity" : "New entity"} action={entity ? "Replace" : "Add"} onClose={onClose} onSubmit={store} isWide>
      {entity && (
        <p class="fine">
          Replaced only if it is still the one with ETag <code>{entity.etag}</code>.
        </p>
      )}
      <div class="two">
        <label>
          PartitionKey
          <input value={partition} disabled={Boolean(entity)} onInput={(event) => setPartition(event.currentTarget.value)} />
        </label>
        <label>
          RowKey
          <input value={row} disabled={Boolean(entity)} onInput={(event) => setRow(event.currentTarget.value)} />
        </label>
      </div>
      <h3>Properties</h3>
      <div class="pairs">
        {fields.map((field, index) => (
          <div class="pair fields" key={index}>
            <input aria-label={`Name of property ${index + 1}`} placeholder="name" value={field.name} onInput={(event) => set(index, { name: event.currentTarget.value })} />
            <span class="pair">
              <select aria-label={`Type of ${field.name}`} value={field.type} onChange={(event) => set(index, { type: event.currentTarget.value as EdmType })}>
                {api.EDM_TYPES.map((type) => (
                  <option key={type}>{type}</option>
                ))}
              </select>
              <input aria-label={`Value of ${field.name}`} value={field.text} onInput={(event) => set(index, { text: event.currentTarget.value })} />
            </span>
            <button type="button" class="bare" aria-label={`Remove ${field.name}`} onClick={() => setFields(fields.filter((_, at) => at !== index))}>
              <Icon name="close" />
            </button>
          </div>
        ))}
        <button type="button" class="link" onClick={() => setFields([...fields, { name: "", type: "String", text: "" }])}>
          + Add property
        </button>
      </div>
      {entity && (
        <p>
          <button type="button" class="link" onClick={remove}>
            Delete this entity…
          </button>
        </p>
      )}
    </FormDialog>
  );
}

function deleteDialog(table: string): void {
  danger({
    title: `Delete the table ${table}?`,
    says: <p>The table and all its entities will be gone. It cannot be undone.</p>,
    action: "Delete the table",
    word: table,
    run: async () => {
      await api.deleteTable(table);
      good(`Deleted ${table}.`);
      noteChange();
      go("data");
    },
  });
}
