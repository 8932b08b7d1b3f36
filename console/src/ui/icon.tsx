// Small drawings, in the colour of the text beside them. Drawn here, so that they look alike whatever fonts there are.
const PATHS = {
  folder: "M2 4.5h4.2l1.5 1.7H14v7H2z",
  file: "M4 1.8h5.2L12 4.6v9.6H4zM9 2v3h3",
  text: "M4 1.8h5.2L12 4.6v9.6H4zM9 2v3h3M6 8h4M6 10.5h4",
  image: "M2 3h12v10H2zM2 11l3.5-3.5 3 3 2-2L14 12M10.5 6.2h.01",
  container: "M8 1.8 14 5v6l-6 3.2L2 11V5zM2 5l6 3 6-3M8 8v6",
  share: "M2 4.5h4.2l1.5 1.7H14v7H2zM5 9.8h6M8 8v3.6",
  queue: "M2 4h12M2 8h12M2 12h8",
  table: "M2 3h12v10H2zM2 6.3h12M2 9.6h12M6 3v10",
  key: "M9.5 6.5a3 3 0 1 1-2.1-2.1zM9 7l5 5M11.5 9.5 10 11",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  restore: "M3 8a5 5 0 1 1 1.6 3.7M3 4.5V8h3.5",
  close: "M4 4l8 8M12 4l-8 8",
  list: "M2 4h12M2 8h12M2 12h12",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);
