// The pictures of the pages in docs/, over the server of the tests, so that they are the same each time:
// `npm run pictures`, which needs pngquant.  Without the variable PICTURES nothing is made.  What whit costs is
// not among them: the numbers of this server are made up.

import { expect, test } from "@playwright/test";
import { fake, NOW_MS, SPIKE_MS } from "./fake";
import { loaded } from "./watch";

const HALF_HOUR = `?from=${NOW_MS - 1_800_000}&thru=${NOW_MS}`;

const PICTURES: [name: string, query: string, width: number, height: number, scheme?: "dark"][] = [
  ["overview", "", 1280, 800],
  ["moment", `?at=${SPIKE_MS}`, 1280, 900],
  ["compare", `${HALF_HOUR}&view=compare`, 1280, 800, "dark"],
  ["hosts", "?view=hosts", 1280, 640],
  ["logs", `${HALF_HOUR}&view=logs`, 1280, 800],
  ["devices", `${HALF_HOUR}&view=devices&device=router&target=uplink`, 1280, 760],
  ["databases", `${HALF_HOUR}&view=databases&database=router/uplink.rrd`, 1280, 545],
  ["alerts", `${HALF_HOUR}&view=alerts`, 1280, 760],
  ["phone", `?at=${SPIKE_MS}`, 360, 740],
];

test.skip(!process.env.PICTURES, "PICTURES names no folder");

for (const [name, query, width, height, colorScheme = "light"] of PICTURES) {
  test(name, async ({ page }) => {
    const server = await fake("backup");
    server.sections = ["logs", "databases", "devices", "parts", "alerts"];
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.goto(server.address + query);
    const isOfTables = ["hosts", "alerts"].includes(name);
    await (isOfTables ? expect(page.locator("main tbody tr").first()).toBeVisible() : loaded(page));
    await page.screenshot({ path: `${process.env.PICTURES}/page-${name}.png`, scale: "css" });
    await server.end();
  });
}
