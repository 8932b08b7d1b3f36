// Builds the console's assets into dist/, compressed. `--check` builds in memory and compares instead: the assets that
// are in the tree are those of the source beside them. What is compared is the content, not how gzip packed it.
import { readFile, readdir, rm, mkdir, writeFile } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = here + "dist/";
/** What a first visit may cost, compressed. */
const WIRE_BYTES_MAX = 200 * 1024;

const built = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { console: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  outdir: "dist",
  write: false,
  logLevel: "warning",
});

if (process.argv.includes("--test")) {
  await esbuild.build({ absWorkingDir: here, entryPoints: ["test/units.ts"], bundle: true, platform: "node", format: "esm", outfile: "units.mjs", logLevel: "warning" });
  process.exit(0);
}

const assets = new Map();
for (const file of built.outputFiles) assets.set(file.path.split("/").pop(), Buffer.from(file.contents));
for (const name of ["index.html", "icon.svg"]) assets.set(name, await readFile(here + "src/" + name));

if (process.argv.includes("--check")) {
  const stale = [];
  const present = (await readdir(dist).catch(() => [])).map((name) => name.replace(/\.gz$/, ""));
  for (const name of new Set([...present, ...assets.keys()])) {
    const kept = await readFile(dist + name + ".gz").then(gunzipSync, () => undefined);
    if (!kept || !assets.has(name) || !kept.equals(assets.get(name))) stale.push(name);
  }
  if (stale.length) {
    console.error(`console/dist is not what console/src says: ${stale.join(", ")}. Run: (cd console && npm ci && npm run build)`);
    process.exit(1);
  }
} else {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist);
  for (const [name, content] of assets) await writeFile(dist + name + ".gz", gzipSync(content, { level: 9 }));
}

let total = 0;
for (const [name, content] of assets) {
  const size = gzipSync(content, { level: 9 }).length;
  total += size;
  console.log(`${name.padEnd(12)} ${String(content.length).padStart(7)} bytes, ${String(size).padStart(6)} compressed`);
}
console.log(`${total} bytes over the wire of ${WIRE_BYTES_MAX}`);
if (total > WIRE_BYTES_MAX) process.exit(1);
