// The page in Chromium, over data of our own: every view and control, both themes, three sizes.

import { readFileSync } from "node:fs";
import { expect, test as plain, type Page } from "@playwright/test";
import { fake, GAP, HOSTILE, NOW_MS, SPIKE_MS, type Fake } from "./fake";
import { barriers, curves, loaded, periodOf, watched } from "./watch";

/** A server of its own for each test, and a page that must stay without errors. */
const test = plain.extend<{ server: Fake; errors: string[]; open: (query?: string) => Promise<Page> }>({
  server: async ({}, use) => {
    const server = await fake();
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

const HALF_HOUR = `?from=${NOW_MS - 1_800_000}&thru=${NOW_MS}`;

for (const [name, query] of [
  ["overview", ""],
  ["a moment", `?at=${SPIKE_MS}&filter=burst+100`],
  ["a tree", `?at=${SPIKE_MS}&by=tree&filter=100`],
  ["what differs", `?at=${SPIKE_MS}&tab=difference`],
  ["a table of the machine", `?at=${SPIKE_MS}&tab=disk`],
  ["compare", `${HALF_HOUR}&view=compare`],
  ["databases", `${HALF_HOUR}&view=databases&database=router/uplink.rrd`],
  ["devices", `${HALF_HOUR}&view=devices&device=router&target=uplink`],
  ["cost", `${HALF_HOUR}&view=cost`],
  ["a year", `?from=${NOW_MS - 3e10}&thru=${NOW_MS}`],
] as const) {
  for (const scheme of ["light", "dark"] as const) {
    test(`${name}, ${scheme}: no barrier, and nothing wider than the screen`, async ({ page, server, open }) => {
      await page.emulateMedia({ colorScheme: scheme });
      const sizes = [[1280, 900], [360, 740], [3840, 2160]] as const;
      // Colours do not hang on the size.
      for (const [width, height] of scheme === "light" ? sizes : sizes.slice(0, 1)) {
        await page.setViewportSize({ width, height });
        server.sections = ["databases", "devices", "parts"];
        server.isFailing = true;
        await open(query);
        await expect(page.locator("html")).toHaveAttribute("data-theme", scheme);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${width} pixels`).toBeLessThanOrEqual(0);
        expect(await barriers(page, { colours: width === sizes[0][0] }), `${width} pixels`).toEqual([]);
      }
    });
  }
}

test("a click on a spike opens its second, with every process of it", async ({ open }) => {
  const page = await open();
  const box = await curves(page, "cpu");
  // The step of the spike has ten seconds; the highest of these is opened.
  await page.mouse.click(box.x + (box.width * (SPIKE_MS - (NOW_MS - 3_600_000))) / 3_600_000, box.y + 60);
  await expect(page.locator("#moment-title")).toHaveText("2026-11-26 11:15:07 Europe/Berlin");
  await expect(page.locator(".moment .sums")).toContainText("340 processes, 40 of them ended");
  expect(new URL(page.url()).searchParams.get("at")).toBe(String(SPIKE_MS));
  const first = page.locator(".moment tbody tr").first();
  await expect(first).toContainText("burst ended");
  await page.goBack();
  await expect(page.locator(".moment")).toBeHidden();
  await page.goForward();
  await expect(page.locator(".moment")).toBeVisible();
});

test("processes sort, group and filter, and the address keeps that", async ({ open }) => {
  let page = await open(`?at=${SPIKE_MS}`);
  const rows = page.locator(".moment tbody tr");
  await page.getByLabel("Filter the rows").fill("burst 1003");
  await expect(rows).toHaveCount(1);
  await page.getByLabel("Filter the rows").fill("burst");
  await page.getByRole("button", { name: "Process", exact: true }).click();
  await expect(rows.first()).toContainText("1039");
  await expect(page.locator(".moment th[aria-sort]")).toHaveAttribute("aria-sort", "descending");
  await page.getByLabel("as", { exact: true }).selectOption("command");
  await expect(rows).toHaveCount(1);
  await expect(rows.first()).toContainText("180 %");
  page = await open(new URL(page.url()).search);
  await expect(rows).toHaveCount(1);
  await expect(page.getByLabel("Filter the rows")).toHaveValue("burst");
  await page.getByLabel("Filter the rows").fill("");
  await page.getByLabel("as", { exact: true }).selectOption("list");
  await expect(rows).toHaveCount(200);
  await page.getByRole("button", { name: /Show all/ }).click();
  await expect(rows).toHaveCount(340);
});

test("the network by process is shown where it was recorded", async ({ server, open }) => {
  let page = await open(`?at=${SPIKE_MS}&filter=burst+1039`);
  const rows = page.locator(".moment tbody tr");
  const heads = page.locator(".moment thead").getByRole("button", { name: /Received|Sent/ });
  await expect(rows).toHaveCount(1);
  await expect(heads).toHaveCount(0);
  server.hasNetwork = true;
  page = await open(`?at=${SPIKE_MS}&sort=-received`);
  await expect(heads).toHaveCount(2);
  await expect(rows.first()).toContainText("1.04 kB/s");
  await expect(rows.first()).toContainText("10.4 kB/s");
  await page.getByLabel("as", { exact: true }).selectOption("command");
  // 40 processes from 1000 to 1039.
  await page.getByRole("button", { name: "Sent", exact: true }).click();
  await expect(rows.first()).toContainText("408 kB/s");
});

test("24 steps from a year to single samples, and back by the browser", async ({ open }) => {
  const page = await open(`?from=${NOW_MS - 3e10}&thru=${NOW_MS}&at=${SPIKE_MS}`);
  const lengths = [periodOf(page).length];
  for (let step = 0; step < 24; step += 1) {
    // One gesture is one step of the browser's history: what follows later is another.
    await page.evaluate(() => performance.now()).then((now) => page.waitForFunction((then) => performance.now() > then + 1000, now));
    await page.keyboard.press("+");
    await expect.poll(() => periodOf(page).length).toBeLessThan(lengths.at(-1) ?? 0);
    lengths.push(periodOf(page).length);
    await loaded(page);
  }
  expect(lengths.at(-1)).toBeLessThan(3000);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user");
  const { from, thru } = periodOf(page);
  expect(from).toBeLessThanOrEqual(SPIKE_MS);
  expect(thru).toBeGreaterThanOrEqual(SPIKE_MS);
  await page.goBack();
  await expect.poll(() => periodOf(page).length).toBe(lengths.at(-2));
});

test("a drag zooms all charts; wheel, keys and buttons move", async ({ open }) => {
  const page = await open(HALF_HOUR);
  const box = await curves(page, "cpu");
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await expect.poll(() => periodOf(page).length).toBeLessThan(500_000);
  const zoomed = periodOf(page);
  expect(Math.abs(zoomed.from - (NOW_MS - 1_350_000))).toBeLessThan(10_000);
  expect(Math.abs(zoomed.length - 450_000)).toBeLessThan(10_000);
  await loaded(page);
  const again = await curves(page, "memory");
  await page.mouse.move(again.x + 50, again.y + 50);
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 200);
  await page.keyboard.up("Shift");
  await expect.poll(() => periodOf(page).length).toBeGreaterThan(zoomed.length);
  const wide = periodOf(page);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => periodOf(page).from).toBeLessThan(wide.from);
  await page.keyboard.press("Home");
  await expect.poll(() => periodOf(page).from).toBe(NOW_MS - 365 * 86_400_000);
  await page.keyboard.press("End");
  await expect.poll(() => new URL(page.url()).searchParams.get("from")).toBeNull();
  await page.getByRole("button", { name: "1 day" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("last")).toBe("86400000");
  await page.keyboard.press("-");
  await expect.poll(() => periodOf(page).length).toBeGreaterThan(86_400_000);
  await page.keyboard.press("Escape");
  await expect.poll(() => new URL(page.url()).searchParams.get("from")).toBeNull();
});

test("the ruler zooms by a drag and by the wheel, and its marks open spikes", async ({ open }) => {
  const page = await open();
  const box = await page.locator(".strip").boundingBox();
  if (!box) throw new Error("no ruler");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 20, { steps: 3 });
  await page.mouse.up();
  const quarter = (365 * 86_400_000) / 4;
  await expect.poll(() => Math.abs(periodOf(page).length / quarter - 1)).toBeLessThan(0.02);
  await page.mouse.wheel(0, -200);
  await expect.poll(() => periodOf(page).length).toBeLessThan(quarter * 0.9);
  await page.locator(".marks button").click();
  await expect(page.locator("#moment-title")).toContainText("11:15:07");
  await expect.poll(() => periodOf(page).length).toBe(600_000);
});

test("a finger moves and two fingers zoom", async ({ page, open }) => {
  await open(HALF_HOUR);
  const before = periodOf(page);
  await page.locator("#chart-cpu .plot").evaluate((plot) => {
    const box = plot.getBoundingClientRect();
    const send = (type: string, id: number, x: number) =>
      plot.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch", clientX: box.left + x, clientY: box.top + 50, bubbles: true }));
    send("pointerdown", 1, 300);
    for (let x = 300; x > 200; x -= 10) send("pointermove", 1, x);
    send("pointerup", 1, 200);
  });
  await expect.poll(() => periodOf(page).from).toBeGreaterThan(before.from);
  const moved = periodOf(page);
  expect(Math.abs(moved.length - before.length)).toBeLessThan(10);
  await page.locator("#chart-cpu .plot").evaluate((plot) => {
    const box = plot.getBoundingClientRect();
    const send = (type: string, id: number, x: number) =>
      plot.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch", clientX: box.left + x, clientY: box.top + 50, bubbles: true }));
    send("pointerdown", 1, 250);
    send("pointerdown", 2, 350);
    for (let x = 350; x < 450; x += 10) send("pointermove", 2, x);
    for (const id of [1, 2]) send("pointerup", id, 0);
  });
  await expect.poll(() => periodOf(page).length).toBeLessThan(moved.length * 0.7);
});

test("the keyboard alone reads a chart and opens a moment", async ({ open }) => {
  const page = await open(HALF_HOUR);
  const plot = page.locator("#chart-cpu .plot");
  await plot.focus();
  for (let step = 0; step < 3; step += 1) await page.keyboard.press("Shift+ArrowLeft");
  const said = await plot.getAttribute("aria-label");
  expect(said).toContain("CPU, 2026-11-26 11:00:00 – 11:30:00 Europe/Berlin");
  expect(said).toMatch(/user [\d.]+ %/);
  await page.keyboard.press("Enter");
  await expect(page.locator(".moment")).toBeVisible();
  await expect(page.locator("#moment-title")).toBeFocused();
  const title = await page.locator("#moment-title").textContent();
  await page.keyboard.press("]");
  await expect(page.locator("#moment-title")).not.toHaveText(title ?? "");
  await page.keyboard.press("Escape");
  await expect(page.locator(".moment")).toBeHidden();
});

test("one cursor is on all charts", async ({ open }) => {
  const page = await open(HALF_HOUR);
  const box = await curves(page, "cpu");
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  const at = (id: string) => page.locator(`#chart-${id} .when`).textContent();
  await expect.poll(() => at("cpu")).toMatch(/11:1[45]/);
  expect(await at("load")).toBe(await at("cpu"));
});

test("a gap is a gap: in curves, readings and the table", async ({ open }) => {
  const page = await open(`?from=${GAP.from_ms - 60_000}&thru=${GAP.thru_ms + 60_000}`);
  const box = await curves(page, "cpu");
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user –");
  await page.locator("#chart-cpu .values summary").click();
  await expect(page.locator("#chart-cpu .values tbody td", { hasText: /^–$/ }).first()).toBeVisible();
  expect(await barriers(page)).toEqual([]);
});

test("samples come live, and an hour of them leaves the heap as it was", async ({ page, server, open }) => {
  await open();
  await expect(page.locator(".status")).toHaveText("live");
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.enable");
    for (let turn = 0; turn < 3; turn += 1) await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize;
  };
  const hear = async (from: number, thru: number) => {
    for (let second = from; second <= thru; second += 1) {
      server.sample(NOW_MS + second * 1000, second % 100);
      if (second % 60 === 0) await page.evaluate(() => new Promise(requestAnimationFrame));
    }
    server.sample(NOW_MS + thru * 1000 + 500, thru % 100);
    await expect(page.locator("#chart-cpu .readings")).toContainText(`softirq`);
    await expect(page.locator(".heaviest .now tbody tr").first()).toContainText(`${thru % 100} %`);
  };
  await hear(1, 1217);
  const before = await heap();
  await hear(1218, 4842);
  const after = await heap();
  expect(after / before).toBeLessThan(1.1);
  await expect(page.locator(".heaviest .now")).toContainText(HOSTILE);
});

test("what is recorded between the first answer and the first sample is no gap", async ({ page, server, open }) => {
  await open("?last=60000");
  await expect(page.locator(".status")).toHaveText("live");
  const asked = () => server.requests.filter((one) => one.includes("/chart?") && one.includes("id=memory")).map((one) => Number(new URLSearchParams(one.split("?")[1]).get("thru")));
  const before = asked().length;
  server.sample(NOW_MS + 5000, 42);
  await expect.poll(() => asked().length).toBeGreaterThan(before);
  expect(asked().at(-1)).toBe(NOW_MS + 5000);
  // The answer ends before that sample, which stays.
  await loaded(page);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user 42 %");
  // Samples after it need no question, and the page goes on by them.
  server.sample(NOW_MS + 6000, 43);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user 43 %");
  expect(asked().length).toBe(before + 1);
});

test("a lost connection is shown and comes back by itself", async ({ page, server, errors, open }) => {
  await open();
  await expect(page.locator(".status")).toHaveText("live");
  await server.drop();
  await expect(page.locator(".status")).toContainText("connection lost");
  await page.getByRole("button", { name: "10 min" }).click();
  await expect(page.getByRole("alert")).toContainText("does not answer");
  await server.restore();
  await expect(page.locator(".status")).toHaveText("live");
  await expect(page.getByRole("alert")).toBeHidden();
  await loaded(page);
  server.sample(NOW_MS + 1000, 42);
  await expect(page.locator("#chart-cpu .readings")).toContainText("user 42 %");
  // The browser itself says what it could not fetch.
  const others = errors.filter((one) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(one));
  errors.length = 0;
  expect(others).toEqual([]);
});

test("a host that does not answer is told", async ({ open }) => {
  const page = await open("");
  const told = page.getByLabel("Hosts that do not answer");
  await expect(told).toContainText(HOSTILE);
  await expect(told).toContainText(/does not answer since .*11:29:00.*: Connection refused/);
});

test("a part that has failed is told on every view, until it is well", async ({ page, server, open }) => {
  await page.clock.install();
  server.sections = ["parts"];
  server.isFailing = true;
  await open("?view=compare");
  const strip = page.getByLabel("What of whit has failed");
  await expect(strip).toContainText(`cannot listen on 127.0.0.1:42217: ${HOSTILE}`);
  await expect(strip).toContainText(/rrdcached fails since .*11:29:00.* It starts again at .*11:30:04/);
  await expect(strip).toContainText(/record cannot write since .*11:28:00.*No space left on device\./);
  await page.getByRole("link", { name: "Cost" }).click();
  await expect(page.locator(".cost tbody tr")).toHaveCount(4);
  await expect(page.locator(".cost tbody")).toContainText(`cannot write /d/${HOSTILE}: No space`);
  await expect(page.locator(".cost tbody")).toContainText("failed, starts again at");
  server.isFailing = false;
  await page.clock.runFor(11_000);
  await expect(strip).toBeHidden();
  await expect(page.locator(".cost tbody")).not.toContainText(/starts again at|cannot write/);
  await page.getByRole("button", { name: "Memory", exact: true }).click();
  await expect(page.locator(".cost th[aria-sort]")).toHaveAttribute("aria-sort", "descending");
  await loaded(page);
  await page.locator("#chart-cost-memory .menu summary").click();
  const href = await page.locator("#chart-cost-memory").getByRole("link", { name: "CSV" }).getAttribute("href");
  expect(href).toMatch(/parts\/curves\?.*what=memory&format=csv/);
});

test("pages that could not follow live are counted", async ({ server, open }) => {
  server.sections = ["parts"];
  const page = await open(`${HALF_HOUR}&view=cost`);
  await expect(page.locator(".cost")).toContainText("refused to follow live, because as many as are served did already: 3.");
});

test("an error of the server is shown as it says it", async ({ page, server, errors, open }) => {
  await open(HALF_HOUR);
  server.failing = { status: 400, error: "from: the period has 10^9 steps: <b>ask</b> for fewer points" };
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByRole("alert")).toContainText("<b>ask</b> for fewer points");
  server.failing = null;
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("alert")).toBeHidden();
  expect(errors.filter((one) => !one.includes("status of 400"))).toEqual([]);
  errors.length = 0;
});

test("names of processes, disks and hosts are text", async ({ open }) => {
  const page = await open(`?at=${SPIKE_MS}&filter=onerror&host=${encodeURIComponent("beta & <b>sons</b>")}`);
  await expect(page.locator("h1")).toHaveText("beta & <b>sons</b>");
  await expect(page.locator(".moment tbody tr").first()).toContainText(HOSTILE);
  await expect(page.locator("#chart-disk .readings")).toContainText(HOSTILE);
  await page.getByLabel("of", { exact: true }).selectOption(HOSTILE);
  await loaded(page);
  await page.getByLabel("show", { exact: true }).selectOption("difference");
  await expect(page.locator(".differences")).toContainText(HOSTILE);
  expect(await page.locator("img, main script, b b").count()).toBe(0);
});

test("two periods lie over each other, and a zoom keeps them together", async ({ open }) => {
  const page = await open(`${HALF_HOUR}&view=compare`);
  await expect(page.locator(".compare .sums")).toContainText("Dashed: 2026-11-26 10:30:00 – 11:00:00, 30 min before");
  await expect(page.locator(".compare table").first()).toContainText("burst");
  await page.getByLabel("compare with").selectOption({ label: "a day before" });
  await expect(page.locator(".compare .sums")).toContainText("Dashed: 2026-11-25 11:00:00");
  await loaded(page);
  const box = await curves(page, "memory");
  await page.mouse.move(box.x + 10, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 60, { steps: 3 });
  await page.mouse.up();
  await expect.poll(() => periodOf(page).length).toBeLessThan(1_000_000);
  await expect(page.locator(".compare .sums")).toContainText("1 d before");
  await page.getByLabel("Start of the other period").fill("2026-11-20T08:00:00");
  await expect(page.locator(".compare .sums")).toContainText("Dashed: 2026-11-20 08:00:00");
});

test("times are the viewer's, the machine's or UTC, and said which", async ({ open }) => {
  const page = await open(`?at=${SPIKE_MS}`);
  for (const [choice, time] of [["machine", "05:15:07 America/New_York"], ["utc", "10:15:07 UTC"], ["viewer", "11:15:07 Europe/Berlin"]] as const) {
    await page.getByLabel("times").selectOption(choice);
    await expect(page.locator("#moment-title")).toContainText(time);
  }
});

test("the theme is switched, and stays after a reload", async ({ open }) => {
  const page = await open();
  await page.getByRole("button", { name: "Show the page dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await loaded(page);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Show the page light" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});

test("every picture and table is saved", async ({ open }) => {
  const page = await open(`${HALF_HOUR}&at=${SPIKE_MS}`);
  const saved = async (work: () => Promise<void>) => {
    const waiting = page.waitForEvent("download");
    await work();
    const file = await waiting;
    return { name: file.suggestedFilename(), data: readFileSync(await file.path()) };
  };
  const menu = page.locator("#chart-cpu .menu");
  await menu.locator("summary").click();
  const png = await saved(() => menu.getByRole("button", { name: "PNG" }).click());
  expect(png.name).toBe("cpu.png");
  expect([...png.data.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  const svg = await saved(() => menu.getByRole("button", { name: "SVG" }).click());
  expect(svg.data.toString()).toContain("<title>CPU, 2026-11-26 11:00:00 – 11:30:00 Europe/Berlin</title>");
  await expect(menu.getByText("CSV")).toHaveAttribute("href", /chart\?host=alpha&id=cpu&from=\d+&thru=\d+&points=\d+&format=csv/);
  await expect(menu.getByText("JSON")).toHaveAttribute("href", /chart\?host=alpha&id=cpu/);
  const csv = await saved(() => page.locator(".moment .foot").getByRole("button", { name: "CSV" }).click());
  expect(csv.data.toString().split("\n").length).toBe(342);
  const json = await saved(() => page.locator(".moment .foot").getByRole("button", { name: "JSON" }).click());
  expect(JSON.parse(json.data.toString())).toHaveLength(340);
});

test("the same moment of all hosts stands side by side", async ({ page, server, open }) => {
  await open(`?at=${SPIKE_MS}&what=memory`);
  await page.getByRole("link", { name: "Hosts" }).click();
  const cards = page.locator(".hosts .card");
  await expect(cards).toHaveCount(2);
  await expect(cards.first().locator("tbody tr")).not.toHaveCount(0);
  await expect(page.locator(".hosts [role=status]")).toContainText("11:15:07");
  const asked = server.requests.filter((one) => one.includes("/heaviest") && one.includes("count=5"));
  expect(asked.filter((one) => one.includes(`from=${SPIKE_MS - 60_000}`) && one.includes("what=memory"))).toHaveLength(2);
  for (const [width, scheme] of [[360, "light"], [1280, "dark"]] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await expect(page.locator("html")).toHaveAttribute("data-theme", scheme);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(await barriers(page), `${width} pixels`).toEqual([]);
  }
  await cards.last().getByRole("button").click();
  await expect(page.locator(".overview")).toBeVisible();
  expect(new URL(page.url()).searchParams.get("host")).toBe("beta & <b>sons</b>");
});

test("what there is instead is told of a host without processes, and of a device", async ({ page, server, open }) => {
  server.sources = ["cpu", "disk"];
  await open();
  await expect(page.locator(".heaviest")).toContainText("No processes are recorded of this host");
  await expect(page.locator(".error")).toBeHidden();
  expect(server.requests.filter((one) => one.includes("/heaviest"))).toEqual([]);
  server.hasCharts = false;
  server.sources = [HOSTILE];
  await page.reload();
  await expect(page.locator(".overview .missing")).toContainText(`Recorded are: ${HOSTILE}`);
  server.sources = ["target"];
  server.sections = ["devices"];
  await page.reload();
  const targets = page.getByRole("button", { name: "show its targets" });
  await expect(targets).toBeVisible();
  expect(await barriers(page)).toEqual([]);
  await targets.click();
  await expect(page.locator(".devices")).toBeVisible();
});

test("the heaviest are by what and per what is chosen", async ({ server, open }) => {
  const page = await open(HALF_HOUR);
  await page.getByLabel("by", { exact: true }).selectOption("read");
  await page.getByLabel("per", { exact: true }).selectOption("user");
  await expect.poll(() => server.requests.some((one) => one.includes("what=read&by=user"))).toBe(true);
  await expect.poll(() => new URL(page.url()).search).toContain("what=read&per=user");
});

test("a database is found, its data sources are chosen, and all is saved", async ({ server, open }) => {
  server.sections = ["databases"];
  const page = await open(HALF_HOUR);
  await page.getByRole("link", { name: "Databases" }).click();
  const rows = page.locator(".databases tbody tr");
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("is not an RRD file");
  await page.getByLabel("Search databases").fill("uplink");
  await expect(rows).toHaveCount(1);
  await page.getByRole("button", { name: "router/uplink.rrd" }).click();
  await expect(page.locator("#chart-database .readings li")).toHaveCount(2);
  await page.getByRole("button", { name: "in", exact: true }).click();
  await expect(page.locator("#chart-database .readings li")).toHaveCount(1);
  expect(new URL(page.url()).searchParams.getAll("source")).toHaveLength(1);
  await expect(page.locator(".picture img")).toHaveJSProperty("complete", true);
  const links = await page.locator(".picture a").evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
  for (const link of links) expect(link).toContain(`from=${NOW_MS - 1_800_000}`);
  expect(links.map((link) => new URL(link, server.address).searchParams.get("format"))).toEqual(["svg", "png"]);
  await page.locator(".databases .chart summary", { hasText: "Save" }).click();
  for (const name of ["CSV", "JSON"]) {
    const href = await page.locator(".databases .chart").getByRole("link", { name }).getAttribute("href");
    expect(href).toContain("databases/data?path=router%2Fuplink.rrd");
  }
  await page.goBack();
  await expect(page.locator(".picture")).toBeHidden();
});

test("alerts show their rules and messages, and lead to their moment", async ({ server, open }) => {
  server.sections = ["alerts"];
  const page = await open(HALF_HOUR);
  await page.getByRole("link", { name: "Alerts" }).click();
  await expect(page.locator(".alerts .state")).toContainText("One alert fires");
  await expect(page.locator(".alerts .state")).toContainText("2 messages were dropped");
  const table = (name: string) => page.getByRole("region", { name, exact: true }).locator("tbody tr");
  await expect(table("Alerts")).toHaveCount(2);
  await expect(table("Rules").last()).toContainText("at once");
  await expect(table("Messages").first()).toContainText("no: Connection refused");
  for (const [width, scheme] of [[360, "light"], [1280, "dark"]] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await expect(page.locator("html")).toHaveAttribute("data-theme", scheme);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(await barriers(page), `${width} pixels`).toEqual([]);
  }
  await page.getByLabel("Search rules, alerts and messages").fill("sda");
  await expect(table("Alerts")).toHaveCount(1);
  await table("Alerts").getByRole("button").click();
  await expect(page.locator("#moment-title")).toHaveText("2026-11-26 11:15:07 Europe/Berlin");
});

test("sections of another host are asked of it", async ({ server, open }) => {
  server.sections = ["logs", "devices", "alerts", "databases", "parts"];
  const page = await open(`${HALF_HOUR}&host=beta+%26+%3Cb%3Esons%3C%2Fb%3E&view=devices&device=router&target=uplink`);
  await expect(page.locator(".devices tbody tr")).toHaveCount(3);
  const pages = "mrtg-of/beta%20%26%20%3Cb%3Esons%3C%2Fb%3E/";
  await expect(page.getByRole("link", { name: "Page of uplink" })).toHaveAttribute("href", `${pages}uplink.html`);
  await expect(page.getByRole("link", { name: "Index of the pages" })).toHaveAttribute("href", pages);
  for (const name of ["Alerts", "Databases", "Cost", "Logs"]) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).click();
    await expect(page.locator("main tbody tr").first()).toBeVisible();
  }
  const asked = server.requests.filter((one) => /\/v1\/(sections|devices|alerts|databases|logs|parts)\b/.test(one));
  const ownOnly = /\/v1\/(sections|parts)$/;
  expect(asked.filter((one) => !one.includes("of=beta") && !ownOnly.test(one))).toEqual([]);
  for (const name of ["sections", "devices/target", "alerts", "databases", "logs/records", "parts/curves"]) {
    expect(asked.filter((one) => one.includes(`/v1/${name}?`)).length, name).toBeGreaterThan(0);
  }
});

test("targets of devices are sorted by traffic and searched, and one has curves", async ({ server, open }) => {
  server.sections = ["devices"];
  const page = await open(HALF_HOUR);
  await page.getByRole("link", { name: "Devices" }).click();
  const rows = page.locator(".devices tbody tr");
  await expect(rows).toHaveCount(3);
  await page.getByRole("button", { name: "In, newest" }).click();
  await expect(rows.first()).toContainText("eth1");
  await expect(rows.last()).toContainText("none since");
  await expect(rows.first()).toContainText(/no answer within 10 s: at 2026-11-26 11:30:00.*, and was read since/);
  await expect(rows.last()).toContainText(/no answer within 10 s: since 2026-11-26 09:00:00, last at/);
  await expect(rows.last()).toHaveClass("lost");
  await expect(rows.first()).toContainText("Port to the next room");
  await page.getByRole("button", { name: "Limit in" }).click();
  await page.getByLabel("Search devices and targets").fill("uplink");
  await expect(rows).toHaveCount(1);
  await expect(rows.getByRole("link")).toHaveAttribute("href", "mrtg/uplink.html");
  await page.getByRole("button", { name: "uplink", exact: true }).click();
  await expect(page.locator("#chart-target .readings")).toContainText(/in .*\/s/);
  const other = await open(new URL(page.url()).search);
  await expect(other.locator("#chart-target h2")).toHaveText("router uplink");
});
