// Bursts of short processes on this machine, recorded by the real program: a click on the mark of each,
// and one more to add its processes up by command, say who it was.  `WHIT` names the program;
// `WHIT_LONG` asks for 1,000 processes and 20 bursts.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test, type Page } from "@playwright/test";
import type { Moment, RulerData } from "../source/api";
import { ended, served, WHIT } from "./program";
import { loaded, watched } from "./watch";

test.skip(WHIT === "", "WHIT names no program");

const IS_LONG = process.env["WHIT_LONG"] !== undefined;
const [SLEEPERS, BURSTS, APART_S] = IS_LONG ? [1000, 20, 8] : [100, 3, 4];

/** A machine that is usually less busy has room for a burst within a second. */
const QUIET_PERCENT = 25;

/** Runs the bursts while a recorder runs; the second in which each began. */
async function recordedBursts(folder: string): Promise<number[]> {
  const program = join(folder, "spikes");
  const { status, stderr } = spawnSync("cc", ["-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", join(import.meta.dirname, "spikes.c"), "-o", program], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  mkdirSync(join(folder, "recordings"));
  const recorder = spawn(WHIT, ["record", "-s", "cZ", "-i", "1:1", "-f", join(folder, "recordings")], { stdio: "ignore" });
  const child = spawn(program, [SLEEPERS, BURSTS, APART_S, 24].map(String), { stdio: ["pipe", "pipe", "inherit"] });
  const bursts: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "done") break;
    bursts.push(Number(line) * 1000);
  }
  await ended(recorder);
  await ended(child);
  return bursts;
}

/** The mark of a burst: at its second, or at that of the sample behind it. */
function markOf(page: Page, burst_ms: number) {
  const clock = (at_ms: number) => new Date(at_ms).toISOString().slice(11, 19);
  const titles = [0, 1000].map((more) => `.marks button[title*="${clock(burst_ms + more)}: CPU"]`);
  return page.locator(titles.join(", ")).first();
}

/** CPU seconds of a burst in all samples until the next one. */
async function cpuSeconds(address: string, burst_ms: number): Promise<number> {
  let seconds = 0;
  // The sample of a second may be late, and then that of the next one, too.
  let latest_ms = 0;
  for (let sample = 1; sample <= APART_S; sample += 1) {
    const answer = await fetch(`${address}api/whit/v1/moment?table=processes&at=${burst_ms + sample * 1000}`);
    if (answer.status !== 200) break;
    const { processes, processes_read } = (await answer.json()) as Moment;
    const { at_ms, before_ms } = processes_read ?? { at_ms: 0, before_ms: 0 };
    if (at_ms <= latest_ms) continue;
    latest_ms = at_ms;
    for (const one of processes) if (one.command === "burst") seconds += ((one.cpu_percent ?? 0) / 100) * ((at_ms - (before_ms ?? at_ms)) / 1000);
  }
  return seconds;
}

test("each burst is marked, and two clicks say who it was", async ({ page }) => {
  test.setTimeout(IS_LONG ? 1_200_000 : 240_000);
  const folder = mkdtempSync(join(tmpdir(), "whit-spikes-"));
  const bursts = await recordedBursts(folder);
  expect(bursts).toHaveLength(BURSTS);
  const server = await served(join(folder, "recordings"));
  const { address } = server;
  const errors = watched(page, address);
  const shown = `${address}?zone=utc&from=${(bursts[0] ?? 0) - 30_000}&thru=${(bursts.at(-1) ?? 0) + 30_000}`;
  const ruler = (await (await fetch(`${address}api/whit/v1/ruler?points=1000`)).json()) as RulerData;
  const busy = ruler.mean.filter((value) => value !== null).sort((one, other) => one - other);
  const usual = busy[Math.floor(busy.length / 2)] ?? 0;
  const found: { marked: boolean; first: string; listed: number; machine: number; seconds: number }[] = [];
  for (const burst_ms of bursts) {
    await page.goto(shown);
    await loaded(page);
    const marked = (await markOf(page, burst_ms).count()) > 0;
    if (marked) await markOf(page, burst_ms).click();
    // Of a machine that is busy all the time a burst is no spike: its second has an address, too.
    else await page.goto(`${shown}&at=${burst_ms + 1000}`);
    await page.getByLabel("as", { exact: true }).selectOption("command");
    await expect(page.locator(".moment tbody tr", { hasText: /^burst/ })).toHaveCount(1);
    const first = (await page.locator(".moment tbody td").first().textContent()) ?? "";
    const sums = (await page.locator(".moment .sums").textContent()) ?? "";
    const [, listed, machine] = /together ([\d.]+) % of a CPU, of ([\d.]+) % that the machine used/.exec(sums) ?? [];
    found.push({ marked, first, listed: Number(listed), machine: Number(machine), seconds: await cpuSeconds(address, burst_ms) });
  }
  await ended(server.child);
  rmSync(folder, { recursive: true });
  const told = `${SLEEPERS} processes, the machine is usually ${usual.toFixed(1)} % busy: ${JSON.stringify(found)}`;
  console.log(told);
  const wrong = (is: (one: (typeof found)[number]) => boolean) => expect(found.filter((one) => !is(one)), told).toEqual([]);
  // 12 children of 50 ms for each CPU, and little for starting and ending them: none is lost.
  const used = 0.6 * cpus().length;
  wrong(({ seconds }) => seconds > 0.98 * used && seconds < 1.25 * used);
  // Where others leave no time, the burst takes several seconds, and is not what used most.
  if (usual < QUIET_PERCENT) {
    wrong(({ marked }) => marked);
    wrong(({ first }) => first.startsWith("burst"));
    // The kernel counts the time of a machine in ticks, and that of processes exactly.
    wrong(({ listed, machine }) => Math.abs(listed - machine) <= 2 * cpus().length);
  }
  expect(errors).toEqual([]);
});
