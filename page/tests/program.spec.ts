// The page over the real program: `WHIT` names it.  Without, the tests of this file are left out.

import { execFile, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test as plain } from "@playwright/test";
import { ended, served, WHIT } from "./program";
import { barriers, curves, loaded, periodOf, watched } from "./watch";

/** Runs a program that must end well. */
function ran(folder: string, program: string, ...words: string[]) {
  const { status, stderr } = spawnSync(program, words, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${words.join(" ")}: ${stderr}`);
}

/** Logs from C, and carries the records to the store in a folder. */
async function logged(folder: string, text: string) {
  const client = join(import.meta.dirname, "../../clients/c");
  if (!existsSync(join(folder, "log"))) {
    mkdirSync(join(folder, "rings"), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, "log.c"), '#include <whit_log.h>\nint main(int count, char **words) {\n whit_log_logger log;\n whit_log_start(NULL);\n whit_log_logger_make(&log, "CONTROL/PM01", NULL, 0);\n WHIT_LOG_ERROR(&log, "%s %d", words[count - 1], 7);\n return 0;\n}\n');
    ran(folder, "cc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", `-I${client}/include`, "log.c", `${client}/src/whit_log.c`, "-o", "log", "-lm");
  }
  const { WHIT_LOG_DIRECTORY } = process.env;
  process.env["WHIT_LOG_DIRECTORY"] = join(folder, "rings");
  ran(folder, "./log", text);
  if (WHIT_LOG_DIRECTORY === undefined) delete process.env["WHIT_LOG_DIRECTORY"];
  ran(folder, WHIT, "log", "proxy", "--directory", "rings", "--central", "./socket", "--spool", "spool", "--once");
}

/** A recorder of this machine, a store of logs, and a server over both. */
const test = plain.extend<{ folder: string; place: string; address: string }>({
  place: async ({}, use) => {
    const place = mkdtempSync(join(tmpdir(), "whit-log-"));
    const central = spawn(WHIT, ["log", "central", "--store", "store", "--listen", "./socket"], { cwd: place, stdio: "ignore" });
    await expect.poll(() => existsSync(join(place, "socket"))).toBe(true);
    await use(place);
    await ended(central);
    rmSync(place, { recursive: true });
  },
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "whit-page-"));
    const recorder = spawn(WHIT, ["record", "-s", "cdmnZ", "-i", "1:1", "-f", folder], { stdio: "ignore" });
    const size = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    await expect.poll(size).toBeGreaterThan(0);
    await use(folder);
    await ended(recorder);
    rmSync(folder, { recursive: true });
  },
  address: async ({ folder, place }, use) => {
    const { address, child } = await served(folder, "--logs", join(place, "store"));
    await use(address);
    await ended(child);
  },
});

test.skip(WHIT === "", "WHIT names no program");

test("the real program: live curves, a moment with its processes, comparison, no error", async ({ page, address }) => {
  const errors = watched(page, address);
  // Two samples make a rate.
  await expect.poll(async () => {
    const answer = await fetch(`${address}api/whit/v1/hosts`);
    const { hosts } = (await answer.json()) as { hosts: { from_ms: number; thru_ms: number }[] };
    return hosts[0] ? hosts[0].thru_ms - hosts[0].from_ms : 0;
  }).toBeGreaterThan(3000);
  await page.goto(address);
  await loaded(page);
  await expect(page.locator(".status")).toHaveText("live");
  await expect(page.locator("#chart-cpu .readings")).toContainText(/user [\d.]+ %/);
  await expect(page.locator("#chart-memory .readings")).toContainText(/used [\d.]+ [MG]B/);
  const when = page.locator("#chart-cpu .when");
  const before = await when.textContent();
  await expect(when).not.toHaveText(before ?? "");
  await expect(page.locator(".heaviest .now tbody tr").first()).toBeVisible();
  await page.locator("#chart-cpu .plot").focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await expect(page.locator(".moment .sums")).toContainText(/\d+ processes/);
  await expect(page.locator(".moment tbody tr").first()).toBeVisible();
  const tables = await page.getByLabel("show", { exact: true }).locator("option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  expect(tables).toContain("cpu");
  for (const table of ["difference", "cpu"]) {
    await page.getByLabel("show", { exact: true }).selectOption(table);
    await expect(page.locator(".moment table").first()).toBeVisible();
  }
  expect(await barriers(page)).toEqual([]);
  for (const name of ["JSON", "CSV"]) {
    const href = await page.locator(".moment > .tools").getByRole("link", { name }).getAttribute("href");
    expect((await page.request.get(new URL(href ?? "", address).href)).status(), href ?? "").toBe(200);
  }
  await page.getByRole("link", { name: "Compare" }).click();
  await expect(page.locator(".compare table").first()).toBeVisible();
  await loaded(page);
  expect(errors).toEqual([]);
});

test("a report opens from its file: curves, moments, names as text, and no request", async ({ page, folder }) => {
  const name = "</script><b>";
  const hostile = "</script><script>window.hacked=1</script><!--<script>";
  const child = spawn("sh", ["-c", `printf '%s' '${name}' > /proc/$$/comm; while :; do :; done`, hostile], { stdio: "ignore" });
  const file = join(folder, "report.html");
  // As many samples as a curve needs, whatever else the machine does.
  await expect(async () => {
    await promisify(execFile)(WHIT, ["play", folder, "--html", file]);
    const about = /<script type="application\/json" id="report">(.*)<\/script>/.exec(readFileSync(file, "utf8"));
    const { moments } = JSON.parse(about?.[1] ?? "{}") as { moments: number };
    expect(moments).toBeGreaterThan(4);
  }).toPass();
  await ended(child);
  const address = `file://${file}`;
  const errors = watched(page, address);
  await page.goto(address);
  await loaded(page);
  await expect(page.getByText("A report made")).toBeVisible();
  await expect(page.locator("#chart-cpu .readings")).toContainText(/user [\d.]+ %/);
  await expect(page.locator(".heaviest tbody")).toContainText(name);
  expect(await barriers(page)).toEqual([]);
  const whole = periodOf(page);
  await page.getByRole("button", { name: "Closer (+)" }).click();
  await expect.poll(() => periodOf(page).length).not.toBe(whole.length);
  await loaded(page);
  const box = await curves(page, "cpu");
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await expect(page.locator(".moment .sums")).toContainText(/\d+ processes/);
  await page.getByLabel("Filter the rows").fill(name);
  await expect(page.locator(".moment tbody tr").first()).toContainText(name);
  await expect(page.locator(".moment tbody tr").first()).toContainText("window.hacked");
  await page.getByLabel("Filter the rows").fill("");
  await page.getByLabel("show", { exact: true }).selectOption("difference");
  await expect(page.locator(".moment table").first()).toBeVisible();
  expect(await barriers(page)).toEqual([]);
  // What is not there is said to be so, with what is.
  await page.goto(`${address}?at=1000`);
  await expect(page.locator(".moment .missing")).toHaveText("This moment is not in this report.");
  await page.getByRole("button", { name: /Open the nearest one/ }).click();
  await expect(page.locator(".moment .sums")).toContainText(/\d+ processes/);
  await page.getByRole("link", { name: "Compare" }).click();
  await expect(page.locator(".compare .missing")).toContainText("is not in this report");
  await loaded(page);
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  expect(errors).toEqual([]);
});

test("the real program: records of a program in C, at once and live, and their moment", async ({ page, address, place }) => {
  const errors = watched(page, address);
  await logged(place, "before <b>");
  await page.goto(`${address}?view=logs&last=600000`);
  await loaded(page);
  const first = page.locator(".records tbody tr").first();
  await expect(first).toContainText("before <b> 7");
  await expect(first).toContainText("ERROR");
  await logged(place, "and now");
  await expect(first).toContainText("and now 7");
  await first.getByRole("button").click();
  await expect(page.locator(".whole")).toContainText("log.c");
  // There is a sample after it before long.
  const at = await page.locator(".whole a").getAttribute("href");
  const record = (await (await page.request.get(new URL(at ?? "", address).href)).json()) as { at_ms: number };
  await expect.poll(async () => (await fetch(`${address}api/whit/v1/moment?at=${record.at_ms}`)).status).toBe(200);
  await page.getByRole("button", { name: /The moment of/ }).click();
  await expect(page.locator(".moment .sums")).toContainText(/\d+ processes/);
  await page.getByLabel("show", { exact: true }).selectOption("logs");
  await expect(page.locator(".moment .records")).toContainText("and now 7");
  expect(await barriers(page)).toEqual([]);
  for (const name of ["JSON", "CSV"]) {
    const href = await page.locator(".logs > .tools").getByRole("link", { name }).getAttribute("href");
    expect((await page.request.get(new URL(href ?? "", address).href)).status(), href ?? "").toBe(200);
  }
  expect(errors).toEqual([]);
});
