// Dialogs. The browser's own element keeps the focus inside and closes on Escape. Held true: nothing that destroys is done before a dialog has
// said what it will do, and the name was typed where it cannot be undone.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Store, useStore } from "./store";
import { Icon } from "./icon";
import { words } from "./notes";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    if (!element.open) element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "wide" : undefined}
      aria-label={title}
      onCancel={(event) => (event.preventDefault(), onClose())}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" class="bare" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** A form in a dialog: closes when it has been done, says why not when it has not. */
export function FormDialog(props: {
  title: string;
  action: string;
  onClose: () => void;
  onSubmit: () => Promise<unknown>;
  children: ComponentChildren;
  isDanger?: boolean;
  isReady?: boolean;
  isWide?: boolean;
}) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isBusy || props.isReady === false) return;
    setBusy(true);
    setError(undefined);
    try {
      await props.onSubmit();
      props.onClose();
    } catch (why) {
      setError(why);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose} isWide={props.isWide}>
      <form onSubmit={submit}>
        {props.children}
        {error !== undefined && (
          <p class="wrong" role="alert">
            {words(error)}
          </p>
        )}
        <footer>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button class={props.isDanger ? "danger" : "main"} disabled={isBusy || props.isReady === false}>
            {props.action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface Danger {
  title: string;
  /** What will happen, and whether it can be taken back. */
  says: ComponentChildren;
  action: string;
  /** To be typed, where it cannot be undone. */
  word?: string;
  run: () => Promise<unknown>;
}

const asked = new Store<Danger | undefined>(undefined);

/** Asks first; then does it. */
export const danger = (what: Danger): void => asked.set(what);

export function DangerDialog() {
  const what = useStore(asked);
  return what ? <Asked key={what.title} what={what} /> : null;
}

function Asked({ what }: { what: Danger }) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title={what.title}
      action={what.action}
      isDanger
      isReady={!what.word || typed === what.word}
      onClose={() => asked.set(undefined)}
      onSubmit={what.run}
    >
      <div class="says">{what.says}</div>
      {what.word && (
        <label>
          Type <code>{what.word}</code> to confirm
          <input value={typed} autocomplete="off" spellcheck={false} autofocus onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      )}
    </FormDialog>
  );
}

/** Several dialogs that a view can open, one at a time. */
export function useDialog(): [ComponentChildren, (make: (close: () => void) => ComponentChildren) => void] {
  const [open, setOpen] = useState<{ content: ComponentChildren }>();
  const close = () => setOpen(undefined);
  return [open?.content, (make) => setOpen({ content: make(close) })];
}
