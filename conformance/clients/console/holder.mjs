// An SMB client in a process of its own (smb/holder.py), which a test tells what to hold.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ACCOUNT, KEY } from "./browser.mjs";

const program = join(dirname(fileURLToPath(import.meta.url)), "../smb/holder.py");

export function holder(share) {
  const client = spawn(process.env.SMB_PYTHON, [program, process.env.SMB_PORT, ACCOUNT, KEY, share], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
  return {
    async ask(...line) {
      client.stdin.write(JSON.stringify(line) + "\n");
      return JSON.parse((await answers.next()).value);
    },
    end: () => client.kill("SIGKILL"),
  };
}
