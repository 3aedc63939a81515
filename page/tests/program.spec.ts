// The page over the real program: `WHIT` names it.  Without, the tests of this file are left out.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test as plain } from "@playwright/test";
import { barriers, loaded, watched } from "./watch";

const WHIT = process.env["WHIT"] ?? "";

/** Ends a program that we have started. */
async function ended(child: ChildProcess) {
  if (child.exitCode !== null) return;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await gone;
}

/** A recorder of this machine and a server over its recordings. */
const test = plain.extend<{ address: string }>({
  address: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "whit-page-"));
    const recorder = spawn(WHIT, ["record", "-s", "cdmnZ", "-i", "1", "-f", folder], { stdio: "ignore" });
    const size = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    await expect.poll(size).toBeGreaterThan(0);
    const server = spawn(WHIT, ["serve", folder, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
    const address = await new Promise<string>((done, failed) => {
      server.once("exit", (code) => failed(new Error(`whit serve ended: ${code}`)));
      for (const stream of [server.stdout, server.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
          if (found) done(`${found[0]}/`);
        });
      }
    });
    await use(address);
    await ended(server);
    await ended(recorder);
    rmSync(folder, { recursive: true });
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
