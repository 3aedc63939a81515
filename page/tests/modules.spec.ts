// The modules that touch no element.

import { expect, test } from "@playwright/test";
import { parse, query, standard } from "../source/address";
import type { ChartData, Process, Series } from "../source/api";
import { addressOf, pause_ms } from "../source/api";
import { added, baseOf } from "../source/compare";
import { csvField, duration, formatted, MISSING, ratio } from "../source/format";
import { grouped, hasNetwork, sum, tree } from "../source/processes";
import { append, drawn, highest, lonely, piled, reached, thinned, type Counts } from "../source/series";
import { escaped, levels, svgOf } from "../source/svg";
import { csvOf, filtered, sorted, type Column } from "../source/table";
import { axisLabels, clock, fieldOf, ofField, period, splits, zoneOf } from "../source/time";

const UTC = { choice: "utc", name: "UTC" } as const;
const BERLIN = { choice: "viewer", name: "Europe/Berlin" } as const;

const series = (id: string, mean: (number | null)[], min = mean, max = mean): Series => ({ id, label: id, mean: [...mean], min: [...min], max: [...max] });
const chart = (...all: Series[]): ChartData => ({ id: "cpu", unit: "percent", from_ms: 10_000, step_ms: 1000, series: all });

test("numbers have three digits and their unit", () => {
  expect(formatted(1_234_567, "bytes/s")).toBe("1.23 MB/s");
  expect(formatted(999_600, "bytes")).toBe("1 MB");
  expect(formatted(1e18, "bytes")).toBe("1 EB");
  expect(formatted(-2500, "count/s")).toBe("-2.5 k/s");
  expect(formatted(0.012, "percent")).toBe("0.012 %");
  expect(formatted(100, "percent")).toBe("100 %");
  expect(formatted(12, "count")).toBe("12");
  expect(formatted(90, "seconds")).toBe("1 min 30 s");
  expect(formatted(3, "things")).toBe("3 things");
});

test("a missing value is never 0", () => {
  for (const value of [null, undefined, NaN, Infinity]) expect(formatted(value, "bytes")).toBe(MISSING);
  expect(formatted(0, "bytes")).toBe("0 B");
  expect(ratio(null)).toBe(MISSING);
});

test("lengths of time have their two largest units", () => {
  expect([0, 0.02, 50, 1500, 65_000, 3_600_000, 90_061_000, -1000].map(duration)).toEqual(["0 s", "20 µs", "50 ms", "1.5 s", "1 min 5 s", "1 h", "1 d 1 h", "-1 s"]);
  // 59.9996 minutes are an hour, not 59 minutes and 60 seconds.
  expect(duration(3_599_999)).toBe("1 h");
});

test("an address shows what was shown", () => {
  const shown = { ...standard(), from_ms: 1000, thru_ms: 9000, at_ms: 5000, tab: "disk", by: "tree" as const, sort: "-cpu", filter: "a&b=c #%", base_ms: 7, zone: "utc" as const, instances: { disk: "a/b&c" }, what: "read" as const, per: "user" as const, host: "ä b" };
  expect(parse(query(shown))).toEqual(shown);
  expect(query(standard())).toBe("");
  expect(parse("")).toEqual(standard());
});

test("what an address says wrongly is left at its standard", () => {
  expect(parse("?from=9&thru=1&at=-4&by=nothing&zone=mars&view=x&last=abc&what=1")).toEqual(standard());
  expect(parse("?from=1e9&thru=99999999999999999999").from_ms).toBeNull();
  // A period has a length that can be seen.
  expect(parse("?from=1000&thru=1001").thru_ms).toBe(3000);
});

test("times are those of a zone", () => {
  const at = Date.UTC(2026, 10, 26, 10, 15, 7, 250);
  expect(clock(at, UTC)).toBe("10:15:07.25");
  expect(clock(at, BERLIN)).toBe("11:15:07.25");
  expect(period(at, at + 60_000, BERLIN)).toBe("2026-11-26 11:15:07.25 – 11:16:07.25");
  expect(zoneOf("machine", "America/New_York").name).toBe("America/New_York");
  expect(zoneOf("machine", "no/zone").choice).toBe("viewer");
  expect(ofField(fieldOf(at, BERLIN), BERLIN)).toBe(at - 250);
  expect(ofField("nonsense", UTC)).toBeNull();
});

test("the axis has round times of the zone, also over a change of its clock", () => {
  // In Berlin the night of 2026-10-25 has an hour more.
  const from = Date.UTC(2026, 9, 23, 22);
  const found = splits(from, from + 5 * 86_400_000, 6, BERLIN);
  expect(found.map((at) => clock(at, BERLIN))).toEqual(found.map(() => "00:00:00"));
  expect(found.length).toBe(5);
  expect(splits(0, 10_000, 6, UTC)).toEqual([0, 2000, 4000, 6000, 8000, 10_000]);
  expect(axisLabels([0, 60_000], UTC)).toEqual(["00:00\n1970-01-01", "00:01"]);
});

test("a pile stays missing only where all of it is", () => {
  const all = [series("a", [1, null, null]), series("b", [2, 2, null])];
  expect(piled(all)).toEqual([[1, null, null], [3, 2, null]]);
});

test("what a pile has reached is at least its mean, and no spike is lost in it", () => {
  const all = [series("user", [20], [5], [90]), series("system", [5], [4], [8])];
  expect(reached(all)).toEqual([94]);
  expect(reached([series("a", [null])])).toEqual([null]);
  // Values that are made of several levels have no bounds.
  expect(reached([series("used", [3], [null], [null]), series("free", [2], [1], [4])])).toEqual([7]);
  expect(highest(chart(series("a", [1, 2, 1], [1, 1, 1], [1, 3, 9])), false)).toBe(2);
});

test("points without neighbours are found, and gaps stay", () => {
  expect(lonely([1, null, 2, 3, null, 4])).toEqual([0, 5]);
});

test("samples that come live go into their steps", () => {
  const data = { ...chart(series("a", [1, 1])), step_ms: 2000 };
  const counts: Counts = new Map();
  const add = (at: number, value: number | null) => append(data, counts, at, 10_000, () => value);
  add(14_000, 4);
  add(15_000, 8);
  add(20_000, 5);
  add(22_000, null);
  const [a] = data.series;
  expect(a?.mean).toEqual([1, 1, 6, null, null, 5, null]);
  expect(a?.min).toEqual([1, 1, 4, null, null, 5, null]);
  expect(a?.max).toEqual([1, 1, 8, null, null, 5, null]);
  // A clock that was set back changes nothing that is drawn.
  add(1000, 99);
  expect(a?.mean.length).toBe(7);
  append(data, counts, 24_000, 16_000, () => 2);
  expect(data.from_ms).toBe(16_000);
  expect(a?.mean).toEqual([null, null, 5, null, 2]);
});

test("a long time without samples makes no long list", () => {
  const data = chart(series("a", [1]));
  append(data, new Map(), 1e12, 1e12 - 60_000, () => 3);
  expect(data.series[0]?.mean.length).toBeLessThan(100);
  expect(data.series[0]?.mean.at(-1)).toBe(3);
});

test("a table of few rows keeps the bounds", () => {
  const few = thinned(chart(series("a", [1, 3, null, null, 5], [0, 3, null, null, 5], [1, 9, null, null, 5])), 3);
  expect(few.step_ms).toBe(2000);
  expect(few.series[0]).toMatchObject({ mean: [2, null, 5], min: [0, null, 5], max: [9, null, 5] });
});

test("of many series the largest are drawn", () => {
  const all = Array.from({ length: 40 }, (_, k) => series(`s${k}`, [k % 20]));
  expect(drawn(chart(...all)).map((one) => one.mean[0]).sort()).toEqual([14, 14, 15, 15, 16, 16, 17, 17, 18, 18, 19, 19]);
});

test("a picture has no markup from names", () => {
  const data = chart({ ...series("a", [1, null, 2]), label: `<script>"&\u0001` });
  const file = svgOf(data, { title: "<b>", kind: "line", from_ms: 10_000, thru_ms: 13_000, zone: UTC });
  expect(file).not.toContain("<script");
  expect(file).not.toContain("<b>");
  expect(file).toContain("&lt;script&gt;&quot;&amp;");
  // Two runs with a gap: both are single points.
  expect(file.match(/<circle/g)?.length).toBe(2);
  expect(file).not.toContain("stroke-dasharray");
  const compared = svgOf(data, { title: "t", kind: "line", from_ms: 10_000, thru_ms: 13_000, zone: UTC, base: data, shift_ms: 0 });
  expect(compared).toContain('stroke-dasharray="4 4"');
  expect(compared).toContain("; dashed: ");
  expect(escaped("a\u0000b")).toBe("a\ufffdb");
  expect(levels(87)).toEqual([0, 25, 50, 75, 100]);
  expect(levels(0)[0]).toBe(0);
});

const process = (pid: number, parent: number | null, cpu: number | null, more: Partial<Process> = {}): Process => ({ pid, parent, command: "c", user: null, cgroup: null, arguments: null, state: null, threads: null, started_ms: null, cpu_percent: cpu, user_percent: null, system_percent: null, rss_bytes: null, read_bytes_s: null, write_bytes_s: null, faults_s: null, ended: false, ended_ms: null, lived_ms: null, exit: null, ...more });

test("the tree has every process once, also those in a circle or without a parent", () => {
  const all = [process(5, 9, 1), process(1, 0, 0), process(2, 1, 3), process(3, 1, 7), process(4, 3, 1), process(8, 7, 0), process(7, 8, 0), process(6, 6, 0)];
  const found = tree(all).map(({ process: one, depth }) => [one.pid, depth]);
  expect(found.slice(0, 6)).toEqual([[5, 0], [1, 0], [3, 1], [4, 2], [2, 1], [6, 0]]);
  expect(found.length).toBe(all.length);
  const chain = Array.from({ length: 30_000 }, (_, k) => process(k + 1, k, 0));
  expect(tree(chain).length).toBe(30_000);
});

test("groups add up what is known", () => {
  const all = [process(1, 0, 2, { user: "a", sent_bytes_s: 5 }), process(2, 0, null, { user: "a", ended: true, sent_bytes_s: 2 }), process(3, 0, null, { sent_bytes_s: null })];
  expect(grouped(all, "user")).toMatchObject([{ name: "a", processes: 2, ended: 1, cpu_percent: 2, sent_bytes_s: 7 }, { name: "unknown", processes: 1, cpu_percent: null, sent_bytes_s: null }]);
  expect([hasNetwork(all), hasNetwork([process(1, 0, 2)])]).toEqual([false, false]);
  expect(hasNetwork([process(1, 0, 2), process(2, 0, 2, { received_bytes_s: null })])).toBe(true);
  expect(sum([])).toBeNull();
});

test("rows sort by any column with missing ones last, and are filtered by words", () => {
  type Row = { name: string; size: number | null };
  const columns: Column<Row>[] = [{ id: "name", label: "Name", unit: null, value: (row) => row.name }, { id: "size", label: "Size", unit: "bytes", value: (row) => row.size }];
  const rows: Row[] = [{ name: "b10", size: null }, { name: "b9", size: 3 }, { name: "A", size: 7 }];
  const names = (sort: string) => sorted(rows, columns, sort).map((row) => row.name);
  expect(names("-size")).toEqual(["A", "b9", "b10"]);
  expect(names("size")).toEqual(["b9", "A", "b10"]);
  expect(names("name")).toEqual(["A", "b9", "b10"]);
  expect(filtered(rows, columns, " B  1 ").map((row) => row.name)).toEqual(["b10"]);
  expect(csvOf(rows.slice(0, 1), columns)).toBe("name,size\nb10,\n");
  expect(csvField('a"b,c')).toBe('"a""b,c"');
});

test("the other period is as long as this one", () => {
  expect(baseOf({ from_ms: 100, thru_ms: 150 }, null)).toEqual({ from_ms: 50, thru_ms: 100 });
  expect(baseOf({ from_ms: 100, thru_ms: 150 }, 7)).toEqual({ from_ms: 7, thru_ms: 57 });
  expect(added(chart(series("user", [1]), series("iowait", [9]), series("system", [2]))).series[0]?.mean).toEqual([3]);
});

test("requests leave out what has no value, and pauses grow to an end", () => {
  expect(addressOf("chart", { host: "a b", id: ["x", "y"], from: 1.6, instance: null })).toBe("api/whit/v1/chart?host=a+b&id=x&id=y&from=2");
  expect([1, 2, 3, 9].map(pause_ms)).toEqual([1000, 2000, 4000, 15_000]);
});
