// The real program, as tests of the page start it: `WHIT` names it.

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

export const WHIT = process.env["WHIT"] ?? "";

/** Ends a program that we have started. */
export async function ended(child: ChildProcess) {
  if (child.exitCode !== null) return;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await gone;
}

/** A server over a folder of recordings, and its address. */
export async function served(folder: string, ...more: string[]): Promise<{ address: string; child: ChildProcess }> {
  const child = spawn(WHIT, ["serve", folder, "--listen", "127.0.0.1:0", ...more], { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise<string>((done, failed) => {
    child.once("exit", (code) => failed(new Error(`whit serve ended: ${code}`)));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
        if (found) done(`${found[0]}/`);
      });
    }
  });
  return { address, child };
}
