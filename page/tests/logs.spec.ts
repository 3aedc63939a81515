// The view of the log, and the log around a moment, over data of our own.

import { expect, test as plain, type Page } from "@playwright/test";
import { fake, HOSTILE, NOW_MS, SPIKE_MS, type Fake } from "./fake";
import { barriers, curves, loaded, periodOf, watched } from "./watch";

const test = plain.extend<{ server: Fake; errors: string[]; open: (query?: string) => Promise<Page> }>({
  server: async ({}, use) => {
    const server = await fake();
    server.sections = ["logs"];
    await use(server);
    await server.end();
  },
  errors: async ({ page, server }, use) => {
    const errors = watched(page, server.address);
    await use(errors);
    expect(errors).toEqual([]);
    expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  },
  open: async ({ page, server, errors: _ }, use) => {
    await use(async (query = "") => {
      await page.goto(server.address + query);
      await loaded(page);
      return page;
    });
  },
});

const MINUTES = `?view=logs&from=${SPIKE_MS - 60_000}&thru=${SPIKE_MS + 60_000}`;
const rows = (page: Page) => page.locator(".records tbody tr");

for (const [name, query] of [
  ["the log", MINUTES],
  ["an open record with hostile texts", `${MINUTES}&record=${SPIKE_MS}-00-0-1`],
  ["the log around a moment", `?at=${SPIKE_MS}&tab=logs&near=TRACE`],
] as const) {
  for (const scheme of ["light", "dark"] as const) {
    test(`${name}, ${scheme}: no barrier, and nothing wider than the screen`, async ({ page, open }) => {
      await page.emulateMedia({ colorScheme: scheme });
      const sizes = [[1280, 900], [360, 740], [3840, 2160]] as const;
      // Colours do not hang on the size.
      for (const [width, height] of scheme === "light" ? sizes : sizes.slice(0, 1)) {
        await page.setViewportSize({ width, height });
        await open(query);
        await expect(rows(page).first()).toBeVisible();
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${width} pixels`).toBeLessThanOrEqual(0);
        expect(await barriers(page, { colours: width === sizes[0][0] }), `${width} pixels`).toEqual([]);
      }
    });
  }
}

test("words, a level and a logger choose records; the address keeps them", async ({ open, server }) => {
  let page = await open(MINUTES);
  await expect(rows(page)).toHaveCount(120);
  await page.getByLabel("Search the text of records").fill("request 12");
  await expect(rows(page)).toHaveCount(10);
  await page.getByLabel("Search the text of records").fill("");
  await expect(rows(page)).toHaveCount(120);
  await page.getByLabel("level", { exact: true }).selectOption("ERROR");
  await expect(rows(page)).toHaveCount(2);
  await page.getByLabel("logger", { exact: true }).fill("control/*");
  await expect.poll(() => server.requests.some((one) => one.includes("logs/counts?") && one.includes("logger=control%2F*"))).toBe(true);
  // The address changes with the view, which may be after the request.
  await expect.poll(() => new URL(page.url()).searchParams.get("logger")).toBe("control/*");
  page = await open(new URL(page.url()).search);
  await expect(page.getByLabel("logger", { exact: true })).toHaveValue("control/*");
  await expect(rows(page)).toHaveCount(2);
  await expect(page.locator(".lost")).toContainText(`7 of ${HOSTILE} on alpha (never arrived)`);
});

test("a record opens with all its data; from it one goes to the moment, and to the records around", async ({ open }) => {
  const page = await open(MINUTES);
  await page.getByRole("button", { name: "window.hacked" }).click();
  const whole = page.locator(".whole");
  await expect(whole.locator("pre")).toContainText(HOSTILE);
  await expect(whole.locator("pre")).toContainText("\\u202eright to left\\u2066 second\nline \\x00 end");
  await expect(whole).toContainText("DV01");
  await page.getByRole("button", { name: /The moment of alpha/ }).click();
  await expect(page.locator(".moment .sums")).toContainText("340 processes");
  await page.getByRole("button", { name: "Records around it" }).click();
  await expect(page.locator(".moment .records tbody tr").first()).toBeVisible();
  await page.locator(".moment").getByLabel("level", { exact: true }).selectOption("TRACE");
  await expect(page.locator(".moment .records tbody tr:not(:has(.data))")).toHaveCount(20);
  await page.locator(".moment").getByLabel("on each side").selectOption("1");
  await expect(page.locator(".moment .records tbody tr:not(:has(.data))")).toHaveCount(2);
});

test("a record of a megabyte is short in the list, whole when open, and breaks nothing", async ({ open }) => {
  const at = Math.floor(SPIKE_MS / 97_000) * 97_000;
  const page = await open(`?view=logs&from=${at - 5000}&thru=${at + 5000}&record=${at}-00-0-1`);
  await expect(page.locator(".whole pre")).toContainText("<b>long</b> \\u202e<b>long</b>");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
});

test("older records come page by page, and a drag over the curve moves the period", async ({ open }) => {
  const page = await open(`?view=logs&from=${NOW_MS - 1_800_000}&thru=${NOW_MS}`);
  await expect(rows(page)).toHaveCount(200);
  await page.getByRole("button", { name: "Older records" }).click();
  await expect(rows(page)).toHaveCount(400);
  const box = await curves(page, "logs");
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => periodOf(page).length).toBeLessThan(500_000);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user");
});

test("new records come on top, what is missed is said, and a pause stays", async ({ open, server }) => {
  const page = await open("?view=logs");
  await expect(rows(page).first()).toBeVisible();
  server.logged(NOW_MS + 1000, "one more <b>", 0);
  await expect(rows(page).first()).toContainText("one more <b>");
  server.logged(NOW_MS + 2000, "and another", 5);
  await expect(rows(page).first()).toContainText("and another");
  await expect(page.locator(".logs .sums")).toContainText("5 came too fast");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect.poll(() => periodOf(page).length).toBe(3_600_000);
  server.logged(NOW_MS + 3000, "not now", 0);
  await page.getByLabel("level", { exact: true }).selectOption("ERROR");
  await expect(rows(page).first()).toContainText("ERROR");
  await expect(page.locator(".records")).not.toContainText("not now");
});

test("without a store there is no log", async ({ server, open }) => {
  server.sections = [];
  const page = await open(`?view=logs&at=${SPIKE_MS}`);
  await expect(page.getByRole("link", { name: "Logs" })).toHaveCount(0);
  await expect(page.locator('.moment option[value="logs"]')).toHaveCount(0);
});
