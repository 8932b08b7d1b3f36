// State that more than one part of the page looks at, and the hooks that look.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export class Store<State> {
  private watchers = new Set<() => void>();
  constructor(private state: State) {}

  get(): State {
    return this.state;
  }

  set(state: State): void {
    this.state = state;
    for (const watcher of [...this.watchers]) watcher();
  }

  change(how: (state: State) => State): void {
    this.set(how(this.state));
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }
}

export function useStore<State>(store: Store<State>): State {
  const [, turn] = useState(0);
  useEffect(() => store.watch(() => turn((count) => count + 1)), [store]);
  return store.get();
}

export interface Loaded<Data> {
  data: Data | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

/** Loads when `key` changes. An answer that comes after the next question is dropped. */
export function useLoad<Data>(load: (signal: AbortSignal) => Promise<Data>, key: readonly unknown[]): Loaded<Data> {
  const [state, setState] = useState<{ data?: Data; error?: unknown; isLoading: boolean }>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    setState((old) => ({ data: old.data, isLoading: true }));
    load(control.signal).then(
      (data) => control.signal.aborted || setState({ data, isLoading: false }),
      (error) => control.signal.aborted || setState({ error, isLoading: false }),
    );
    return () => control.abort();
  }, [...key, turn]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

/** After so long without a key or a pointer nobody is there: the page stops asking, and the server ends the session when its time is over. */
const IDLE_MS = 20 * 60_000;
let lastTouched = Date.now();
for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"]) addEventListener(kind, () => void (lastTouched = Date.now()), { passive: true, capture: true });

const isWatched = (): boolean => !document.hidden && Date.now() - lastTouched < IDLE_MS;

/** Calls again and again while the page is looked at. The next call waits for the one before. */
export function useEvery(milliseconds: number, run: () => Promise<void> | void, key: readonly unknown[] = []): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const turn = async () => {
      if (isWatched()) await Promise.resolve(latest.current()).catch(() => {});
      if (!isOver) timer = setTimeout(turn, milliseconds);
    };
    void turn();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [milliseconds, ...key]);
}
