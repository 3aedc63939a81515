// The tests of the page: its modules by themselves, and the page in Debian's Chromium.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  fullyParallel: true,
  workers: 2,
  // A busy machine is slow, and no test says how long something may take.
  timeout: 300_000,
  expect: { timeout: 120_000 },
  // A browser that hangs is not a page that fails: a test that passes the second time is named as flaky.
  retries: 1,
  reporter: "dot",
  outputDir: "test-results",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 900 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    launchOptions: { executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] },
  },
});
