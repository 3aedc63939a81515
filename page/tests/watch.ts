// What every test of the page in a browser watches for: errors, requests to elsewhere, and barriers.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { expect, type Page } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Notes errors and foreign requests; the list must stay empty but for what a test expects. */
export function watched(page: Page, address: string): string[] {
  const found: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") found.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !url.startsWith(`blob:${address}`)) found.push(`foreign: ${url}`);
  });
  return found;
}

/** Waits until all curves of the period are there. */
export async function loaded(page: Page) {
  await expect(page.locator("main figure.chart .uplot").first()).toBeVisible();
  await expect(page.locator("main [aria-busy]")).toHaveCount(0);
}

/** What axe complains about; colours, which cost it most, only if they are asked for. */
export async function barriers(page: Page, { colours } = { colours: true }): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(async (enabled) => {
    type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] };
    type Axe = { run: (options: object) => Promise<{ violations: Violation[] }> };
    return await (window as unknown as { axe: Axe }).axe.run({ rules: { "color-contrast": { enabled } } });
  }, colours);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
}

/** The period that the page's address says. */
export function periodOf(page: Page): { from: number; thru: number; length: number } {
  const words = new URL(page.url()).searchParams;
  const [from, thru] = [Number(words.get("from")), Number(words.get("thru"))];
  return { from, thru, length: thru - from };
}

/** Where a chart's curves are. */
export async function curves(page: Page, id: string) {
  const over = page.locator(`#chart-${id} .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (!box) throw new Error(`${id} has no curves`);
  return box;
}
