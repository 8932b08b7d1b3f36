// One queue. Peeking changes nothing; taking hides a message from everybody else for a while, and is what a worker does. Messages that this page took can be deleted,
// kept for longer or given back.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import * as api from "../../api/queue";
import type { Message } from "../../api/queue";
import { messagesInFlight } from "../../api/server";
import type { InFlight } from "../../api/server";
import { danger, Dialog, FormDialog, useDialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { bad, Empty, good, Trouble } from "../../ui/notes";
import { Badge, Crumbs, Menu, PairEditor, pairsOf, recordOf, Tabs, useDraft } from "../../ui/parts";
import { go } from "../../ui/route";
import { count, plural, seconds, time } from "../../ui/say";
import { useEvery, useLoad } from "../../ui/store";
import { ObjectTimeline, RecordLine } from "../concurrency/timeline";
import { BackToList } from "../data";
import { accountOf, mayRecord } from "../session";
import type { Signed } from "../session";
import { Json } from "./preview";
import { SasDialog } from "./sas";
import { noteChange } from "./side";

type Tab = "waiting" | "taken" | "flight" | "timeline";

export function QueueView({ now, queue }: { now: Signed; queue: string }) {
  const [tab, setTab] = useState<Tab>("waiting");
  const [dialog, show] = useDialog();
  const [taken, setTaken] = useState<Message[]>([]);
  const info = useLoad(() => api.queueMetadata(queue), [queue]);
  const peeked = useLoad(() => api.peek(queue), [queue]);
  const reload = () => (info.reload(), peeked.reload());
  const takeSome = async (howMany: number, hold: number) => {
    const got = await api.take(queue, howMany, hold);
    setTaken((old) => [...old.filter((one) => !got.some((other) => other.id === one.id)), ...got]);
    good(got.length ? `Took ${plural(got.length, "message")}. Nobody else sees them for ${hold} seconds.` : "No message is waiting.");
    if (got.length) setTab("taken");
    reload();
  };
  const tabs: (readonly [Tab, string])[] = [
    ["waiting", "Waiting"],
    ["taken", `Taken here (${taken.length})`],
    ...(mayRecord(now) ? ([["flight", "In flight"], ["timeline", "Timeline"]] as const) : []),
  ];
  return (
    <>
      <div class="bar">
        <BackToList />
        <Crumbs parts={[[queue, undefined]]} />
        <Badge tone="info">about {info.data ? count(info.data.count) : "…"} in all</Badge>
        <span class="space" />
        <button class="main" onClick={() => show((close) => <PutDialog queue={queue} onClose={close} onDone={reload} />)}>
          Put a message…
        </button>
        <button onClick={() => show((close) => <TakeDialog onClose={close} onTake={takeSome} />)}>Take…</button>
        <Menu label={<Icon name="more" />} title="More about this queue">
          <button onClick={reload}>Load again</button>
          <button onClick={() => show((close) => <MetadataDialog queue={queue} metadata={info.data?.metadata ?? {}} onClose={close} onDone={reload} />)}>Metadata…</button>
          <button onClick={() => show((close) => <SasDialog now={now} target={{ service: "queue", container: queue }} onClose={close} />)}>Make a SAS…</button>
          <button class="warn" onClick={() => clearDialog(queue, info.data?.count ?? 0, () => (setTaken([]), reload()))}>
            Clear…
          </button>
          <button class="warn" onClick={() => deleteDialog(queue)}>
            Delete the queue…
          </button>
        </Menu>
      </div>
      <div class="content padded">
        <Tabs label="Messages" names={tabs} now={tab} onPick={setTab} />
        {(info.error || peeked.error) !== undefined && <Trouble error={info.error ?? peeked.error} retry={reload} />}
        {tab === "waiting" && peeked.data && (
          <>
            <p class="fine">The first {peeked.data.length} that are visible now. Looking changes nothing.</p>
            {peeked.data.length === 0 ? <Empty>No message is waiting.</Empty> : <Messages messages={peeked.data} onOpen={(message) => show((close) => <MessageDialog message={message} onClose={close} />)} />}
          </>
        )}
        {tab === "taken" && (
          <Taken
            queue={queue}
            taken={taken}
            onOpen={(message) => show((close) => <MessageDialog message={message} onClose={close} />)}
            onChange={(next) => (setTaken(next), reload())}
          />
        )}
        {tab === "flight" && <Flight now={now} queue={queue} />}
        {tab === "timeline" && <ObjectTimeline object={`queue/${accountOf(now)}/${queue}`} isPrefix />}
      </div>
      {dialog}
    </>
  );
}

const firstLine = (message: Message): string => (api.decoded(message.text) ?? message.text).split("\n")[0]!.slice(0, 200);

function Messages({ messages, onOpen, actions }: { messages: Message[]; onOpen: (message: Message) => void; actions?: (message: Message) => ComponentChildren }) {
  return (
    <table class="lines">
      <thead>
        <tr>
          <th>Text</th>
          <th>Put</th>
          <th>Taken before</th>
          <th>Ends</th>
          {actions && <th>Actions</th>}
        </tr>
      </thead>
      <tbody>
        {messages.map((message) => (
          <tr key={message.id}>
            <td>
              <button class="link" onClick={() => onOpen(message)}>
                {firstLine(message) || "(empty)"}
              </button>{" "}
              {api.decoded(message.text) !== undefined && <Badge title="The text is Base64, as many SDKs send it.">base64</Badge>}
            </td>
            <td>{time(message.inserted)}</td>
            <td>{message.dequeued}</td>
            <td>{time(message.expires)}</td>
            {actions && <td>{actions(message)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Taken({ queue, taken, onOpen, onChange }: { queue: string; taken: Message[]; onOpen: (message: Message) => void; onChange: (next: Message[]) => void }) {
  const without = (message: Message) => taken.filter((one) => one.id !== message.id);
  const run = async (act: () => Promise<Message[]>, said: string) => {
    try {
      onChange(await act());
      good(said);
    } catch (error) {
      bad(error);
    }
  };
  if (taken.length === 0) return <Empty>Nothing was taken here. Messages that you take are hidden from others until their time is over.</Empty>;
  return (
    <Messages
      messages={taken}
      onOpen={onOpen}
      actions={(message) => (
        <span class="actions">
          <span class="fine">until {time(message.visibleAt)}</span>
          <button onClick={() => run(async () => (await api.deleteMessage(queue, message), without(message)), "Deleted the message.")}>Delete</button>
          <button onClick={() => run(async () => (await api.update(queue, message, message.text, 0), without(message)), "The message is visible to others again.")}>Give back</button>
          <button
            onClick={() =>
              run(async () => {
                const { receipt, visibleAt } = await api.update(queue, message, message.text, 60);
                return taken.map((one) => (one.id === message.id ? { ...one, receipt, visibleAt } : one));
              }, "Kept for another minute.")
            }
          >
            Keep 60 s
          </button>
        </span>
      )}
    />
  );
}

function Flight({ now, queue }: { now: Signed; queue: string }) {
  const [all, setAll] = useState<InFlight[]>();
  const object = `queue/${accountOf(now)}/${queue}`;
  useEvery(1000, async () => setAll((await messagesInFlight()).messages.filter((one) => one.object === object || one.object.startsWith(object + "/"))), [object]);
  if (!all) return <p class="loading">Loading…</p>;
  if (all.length === 0) return <Empty>No message is held by anybody.</Empty>;
  return <FlightTable all={all} />;
}

export function FlightTable({ all }: { all: InFlight[] }) {
  return (
    <table class="lines">
      <thead>
        <tr>
          <th>Message</th>
          <th>Held by</th>
          <th>Taken</th>
          <th>Time left</th>
        </tr>
      </thead>
      <tbody>
        {all.map((one) => (
          <tr key={one.object + one.id}>
            <td>
              <code>{one.object.split("/").slice(2).join("/")}</code> <span class="fine">{one.id}</span>
            </td>
            <td class="wrap">{one.holder ? <RecordLine record={one.holder} /> : "not in the record any more"}</td>
            <td>{plural(one.dequeues, "time")}</td>
            <td>{seconds(one.seconds_left)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MessageDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const text = api.decoded(message.text);
  return (
    <Dialog title={`Message ${message.id}`} onClose={onClose} isWide>
      {text !== undefined && <p class="fine">Decoded from Base64.</p>}
      <div class="preview" tabIndex={0}>
        <Json text={text ?? message.text} />
      </div>
    </Dialog>
  );
}

function PutDialog({ queue, onClose, onDone }: { queue: string; onClose: () => void; onDone: () => void }) {
  const [text, setText] = useState("");
  const [encode, setEncode] = useState(false);
  const [delay, setDelay] = useState("0");
  const [life, setLife] = useState("604800");
  const put = async () => {
    const body = encode ? btoa(String.fromCharCode(...new TextEncoder().encode(text))) : text;
    await api.put(queue, body, Number(delay), Number(life));
    good("Put the message.");
    onDone();
  };
  return (
    <FormDialog title="Put a message" action="Put" onClose={onClose} onSubmit={put}>
      <label>
        Text
        <textarea value={text} autofocus onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" checked={encode} onChange={(event) => setEncode(event.currentTarget.checked)} /> Encode as Base64, as many SDKs expect it
      </label>
      <div class="two">
        <label>
          Hidden for (seconds)
          <input type="number" min="0" value={delay} onInput={(event) => setDelay(event.currentTarget.value)} />
        </label>
        <label>
          Lives for (seconds, -1: for ever)
          <input type="number" min="-1" value={life} onInput={(event) => setLife(event.currentTarget.value)} />
        </label>
      </div>
    </FormDialog>
  );
}

function TakeDialog({ onClose, onTake }: { onClose: () => void; onTake: (count: number, seconds: number) => Promise<void> }) {
  const [howMany, setHowMany] = useState("1");
  const [hold, setHold] = useState("60");
  return (
    <FormDialog title="Take messages" action="Take" onClose={onClose} onSubmit={() => onTake(Number(howMany), Number(hold))}>
      <p>Workers will not see these messages for as long as you hold them. Each counts as delivered once more.</p>
      <div class="two">
        <label>
          How many (1 to 32)
          <input type="number" min="1" max="32" value={howMany} onInput={(event) => setHowMany(event.currentTarget.value)} />
        </label>
        <label>
          Hold for (seconds)
          <input type="number" min="1" value={hold} onInput={(event) => setHold(event.currentTarget.value)} />
        </label>
      </div>
    </FormDialog>
  );
}

function MetadataDialog({ queue, metadata, onClose, onDone }: { queue: string; metadata: Record<string, string>; onClose: () => void; onDone: () => void }) {
  const [pairs, setPairs, isTouched] = useDraft(pairsOf(metadata), queue);
  const save = async () => {
    await api.setQueueMetadata(queue, recordOf(pairs));
    good("Saved.");
    onDone();
  };
  return (
    <FormDialog title={`Metadata of ${queue}`} action="Save" onClose={onClose} onSubmit={save} isReady={isTouched}>
      <PairEditor pairs={pairs} onChange={setPairs} name="metadata" />
    </FormDialog>
  );
}

function clearDialog(queue: string, howMany: number, after: () => void): void {
  danger({
    title: `Clear the queue ${queue}?`,
    says: <p>All {count(howMany)} messages will be gone, also those that workers hold: they will not be able to delete or keep them. It cannot be undone.</p>,
    action: "Clear the queue",
    word: queue,
    run: async () => {
      await api.clearQueue(queue);
      good(`Cleared ${queue}.`);
      after();
    },
  });
}

function deleteDialog(queue: string): void {
  danger({
    title: `Delete the queue ${queue}?`,
    says: <p>The queue and all its messages will be gone. It cannot be undone.</p>,
    action: "Delete the queue",
    word: queue,
    run: async () => {
      await api.deleteQueue(queue);
      good(`Deleted ${queue}.`);
      noteChange();
      go("data");
    },
  });
}
