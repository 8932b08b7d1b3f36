// A list of any length: only the rows in sight are in the page, and more are asked for when its end comes into sight. Held true: a million rows cost
// what a screenful does, also beyond the height that browsers can scroll.
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Lines } from "./window";

const ROW_PIXELS = 34;
/** Browsers cut elements off at about 33 million pixels. */
const HEIGHT_MAX = 15_000_000;
const BEYOND_SIGHT = 12;

interface Props<Row> {
  rows: Lines<Row>;
  label: string;
  /** A class of its own, for what its columns do where there is little room. */
  kind?: string;
  columns: readonly (readonly [string, string])[];
  keyOf: (row: Row) => string;
  cells: (row: Row) => ComponentChildren[];
  onOpen: (row: Row) => void;
  isMarked?: (row: Row) => boolean;
  onMark?: (row: Row, isRange: boolean) => void;
  /** The row that is open beside the list. */
  open?: string;
  /** There are more rows than these. */
  hasMore?: boolean;
  onMore?: () => void;
  /** These rows are in sight. */
  onSight?: (from: number, to: number) => void;
  foot?: ComponentChildren;
}

export function Rows<Row>(props: Props<Row>) {
  const { rows } = props;
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  useLayoutEffect(() => {
    const element = box.current!;
    const look = () => setSight({ top: element.scrollTop, height: element.clientHeight });
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      watcher.disconnect();
    };
  }, []);

  const whole = rows.length * ROW_PIXELS;
  const height = Math.min(whole, HEIGHT_MAX);
  // Beyond what a browser can scroll, the bar stands for the share of the list and not for pixels.
  const scale = whole > height ? (whole - sight.height) / (height - sight.height) : 1;
  const top = sight.top * scale;
  const from = Math.max(0, Math.floor(top / ROW_PIXELS) - BEYOND_SIGHT);
  const to = Math.min(rows.length, Math.ceil((top + sight.height) / ROW_PIXELS) + BEYOND_SIGHT);
  const isNearEnd = to >= rows.length - 1;
  useEffect(() => {
    if (isNearEnd && props.hasMore) props.onMore?.();
  }, [isNearEnd, props.hasMore, rows.length]);
  useEffect(() => props.onSight?.(from, to), [from, to, rows]);

  const show = (index: number) => {
    const element = box.current!;
    setActive(index);
    const [upper, lower] = [index * ROW_PIXELS, (index + 1) * ROW_PIXELS + ROW_PIXELS];
    if (upper < top) element.scrollTop = upper / scale;
    else if (lower > top + sight.height) element.scrollTop = (lower - sight.height) / scale;
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.target instanceof HTMLInputElement && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const page = Math.max(1, Math.floor(sight.height / ROW_PIXELS) - 2);
    const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    const [row] = rows.slice(active, active + 1);
    if (event.key in move) show(Math.max(0, Math.min(rows.length - 1, active + move[event.key]!)));
    else if (event.key === "Enter" && row) props.onOpen(row);
    else if (event.key === " " && row && props.onMark) props.onMark(row, event.shiftKey);
    else return;
    event.preventDefault();
  };

  const widths = { gridTemplateColumns: (props.onMark ? "34px " : "") + props.columns.map(([, width]) => width).join(" ") };
  return (
    <div class={`rows ${props.kind ?? ""}`} role="grid" aria-label={props.label} aria-rowcount={props.hasMore ? -1 : rows.length}>
      <div class="row head" role="row" style={widths}>
        {props.onMark && <span role="columnheader" aria-label="Selected" />}
        {props.columns.map(([name]) => (
          <span role="columnheader" key={name}>
            {name}
          </span>
        ))}
      </div>
      <div class="scroll" ref={box} tabIndex={0} onKeyDown={onKey} role="rowgroup" aria-label={`${props.label}: arrow keys move, Enter opens, Space selects`}>
        <div class="whole" style={{ height: `${height}px` }}>
          <div class="sight" style={{ transform: `translateY(${from * ROW_PIXELS - top + sight.top}px)` }}>
            {rows.slice(from, to).map((row, offset) => {
              const index = from + offset;
              if (!row) return <div key={index} role="row" aria-rowindex={index + 1} class="row" style={widths} aria-busy="true" />;
              const key = props.keyOf(row);
              const isMarked = props.isMarked?.(row) ?? false;
              return (
                <div
                  key={key}
                  role="row"
                  aria-rowindex={index + 1}
                  aria-selected={isMarked}
                  class={`row${index === active ? " active" : ""}${isMarked ? " marked" : ""}${key === props.open ? " open" : ""}`}
                  style={widths}
                  onClick={() => (setActive(index), props.onOpen(row))}
                >
                  {props.onMark && (
                    <span role="gridcell" class="pick" onClick={(event) => event.stopPropagation()}>
                      <input type="checkbox" tabIndex={-1} checked={isMarked} aria-label={`Select ${key}`} onClick={(event) => props.onMark!(row, event.shiftKey)} />
                    </span>
                  )}
                  {props.cells(row).map((cell, at) => (
                    <span role="gridcell" key={at}>
                      {cell}
                    </span>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {props.foot && <div class="foot">{props.foot}</div>}
    </div>
  );
}
