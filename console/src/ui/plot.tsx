// A plot over time, with uPlot. Colours follow the page, also when they change.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface Line {
  label: string;
  /** A colour of the page, by the name of its property. */
  colour: string;
  values: readonly (number | null)[];
  fill?: boolean;
}

interface Props {
  times: readonly number[];
  lines: readonly Line[];
  say: (value: number) => string;
  label: string;
  /** Steps of the axis are whole powers of two, as bytes are told. */
  isBytes?: boolean;
  /** The axis goes at least so far, so that noise does not fill the plot. */
  atLeast?: number;
}

const HEIGHT = 170;
/** At least so much time is on the axis, also when there are few readings. */
const SHOWN_SECONDS = 60;

const clock = (at: number): string => new Date(at * 1000).toLocaleTimeString("en-GB");

/** What a colour of the page is, as a canvas wants it. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

export function Plot({ times, lines, say, label, isBytes, atLeast = 0.001 }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = box.current!;
    const said = (value: number | null | undefined) => (value == null ? "–" : say(value));
    const build = () => {
      plot.current?.destroy();
      const [soft, line] = [colourOf(element, "soft"), colourOf(element, "line")];
      const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui" };
      plot.current = new uPlot(
        {
          width: Math.max(200, element.clientWidth),
          height: HEIGHT,
          cursor: { points: { size: 6 } },
          legend: { live: true },
          scales: { x: { range: (_plot, from, to) => [Math.min(from, to - SHOWN_SECONDS), to] }, y: { range: (_plot, _low, high) => [0, Math.max(high, atLeast) * 1.1] } },
          axes: [{ ...axis, space: 80, values: (_plot, ticks) => ticks.map(clock) }, { ...axis, size: 76, space: 34, ...(isBytes ? { incrs: POWERS } : {}), values: (_plot, ticks) => ticks.map(say) }],
          series: [
            { label: "at", value: (plot, value) => clock(value ?? plot.data[0].at(-1) ?? 0) },
            ...lines.map(({ label, colour, fill }) => {
              const stroke = colourOf(element, colour);
              return { label, stroke, width: 1.75, points: { show: false }, fill: fill ? stroke.replace("rgb(", "rgba(").replace(")", ", 0.14)") : undefined, value: (plot: uPlot, value: number | null, series: number) => said(value ?? plot.data[series]?.at(-1)) };
            }),
          ],
        },
        [[...times], ...lines.map((one) => [...one.values])] as uPlot.AlignedData,
        element,
      );
    };
    build();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT }));
    resize.observe(element);
    const colours = new MutationObserver(build);
    colours.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", build);
    return () => {
      resize.disconnect();
      colours.disconnect();
      system.removeEventListener("change", build);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [lines.map((one) => one.label).join()]);
  useEffect(() => {
    plot.current?.setData([[...times], ...lines.map((one) => [...one.values])] as uPlot.AlignedData);
  }, [times, lines]);
  const last = lines.map((one) => `${one.label}: ${one.values.length && one.values.at(-1) != null ? say(one.values.at(-1)!) : "unknown"}`).join(", ");
  return <div class="plot" ref={box} role="img" aria-label={`${label}. Now: ${last}`} />;
}
