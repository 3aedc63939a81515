// A server of the page's interface with data of our own: names that want to be markup, errors, lost
// connections, years of time.  The same numbers at every run.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { ChartData, ChartInfo, Host, LogRecord, Process, Series } from "../source/api";

const FILES = process.env["WHIT_PAGE_FILES"] ?? join(import.meta.dirname, "../../crates/serve/page_files");
const TYPES: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };

/** 2026-11-26 10:30:00 UTC. */
export const NOW_MS = Date.UTC(2026, 10, 26, 10, 30);
const YEAR_MS = 365 * 86_400_000;
/** When the machine was busy, and who it was. */
export const SPIKE_MS = Date.UTC(2026, 10, 26, 10, 15, 7);
export const GAP = { from_ms: NOW_MS - 40 * 60_000, thru_ms: NOW_MS - 36 * 60_000 };
export const HOSTILE = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

const list = (...words: string[]) => words.map((id) => ({ id, label: id }));
const chart = (id: string, title: string, unit: string, kind: "line" | "stack", group: string, series: { id: string; label: string }[], instances: string[] = []): ChartInfo => ({ id, title, unit, kind, group, instances, series });

export const CHARTS: ChartInfo[] = [
  chart("cpu", "CPU", "percent", "stack", "CPU", list("user", "nice", "system", "irq", "softirq", "steal", "iowait")),
  chart("load", "Load average", "count", "line", "CPU", list("1 minute", "5 minutes", "15 minutes")),
  chart("memory", "Memory", "bytes", "stack", "Memory", list("used", "buffers", "cached", "slab", "free")),
  chart("disk", "Disks", "bytes/s", "line", "Disks", list("read", "write"), ["nvme0n1", "sda", HOSTILE]),
  chart("network", "Network", "bytes/s", "line", "Network", list("receive", "transmit"), ["eth0"]),
  chart("pressure", "Pressure: tasks stalled", "percent", "line", "Pressure", list("cpu", "memory", "io")),
];

const SIZES: Record<string, number> = { user: 12, system: 5, iowait: 2, nice: 0.5, irq: 0.2, softirq: 0.6, steal: 0, used: 3e9, buffers: 2e8, cached: 8e9, slab: 6e8, free: 4e9, read: 4e6, write: 9e6, receive: 1.2e6, transmit: 3e5, cpu: 3, memory: 0.1, io: 1 };

/** A number from 0 to 1 that hangs on its arguments alone. */
function noise(a: number, b: number): number {
  const x = Math.sin(a * 12.9898 + b * 78.233) * 43_758.5453;
  return x - Math.floor(x);
}

function series(info: ChartInfo, instance: string | null, from_ms: number, step_ms: number, count: number): Series[] {
  return info.series.map(({ id, label }, number) => {
    const size = SIZES[id] ?? 1;
    const one: Series = { id, label, instance, mean: [], min: [], max: [] };
    for (let k = 0; k < count; k += 1) {
      const at = from_ms + k * step_ms;
      if ((at + step_ms > GAP.from_ms && at < GAP.thru_ms) || at > NOW_MS || at < NOW_MS - YEAR_MS) {
        one.mean.push(null);
        one.min.push(null);
        one.max.push(null);
        continue;
      }
      const wave = 1 + 0.4 * Math.sin(at / 400_000 + number) + 0.3 * Math.sin(at / 86_400_000 * 2 * Math.PI);
      const value = size * Math.max(wave + 0.4 * (noise(at / 1000, number) - 0.5), 0.02);
      const isSpike = id === "user" && at <= SPIKE_MS && at + step_ms > SPIKE_MS;
      const peak = isSpike ? 78 : value * (step_ms > 1000 ? 1.3 : 1);
      one.mean.push(isSpike ? value + (78 - value) / Math.max(step_ms / 1000, 1) : value);
      one.min.push(value * (step_ms > 1000 ? 0.7 : 1));
      one.max.push(peak);
    }
    return one;
  });
}

function chartData(id: string, query: URLSearchParams): ChartData {
  const info = CHARTS.find((one) => one.id === id) as ChartInfo;
  const [from, thru, points] = ["from", "thru", "points"].map((name) => Number(query.get(name)));
  const steps = [1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 21_600, 86_400].map((one) => one * 1000);
  const span = (thru ?? 0) - (from ?? 0);
  const step_ms = steps.find((one) => span / one <= (points ?? 1)) ?? 86_400_000;
  const from_ms = Math.floor((from ?? 0) / step_ms) * step_ms;
  const count = Math.ceil(((thru ?? 0) - from_ms) / step_ms);
  const asked = query.get("instance");
  const instances: (string | null)[] = asked ? [asked] : info.instances.length > 0 ? info.instances : [null];
  return { id, unit: info.unit, from_ms, step_ms, series: instances.flatMap((one) => series(info, one, from_ms, step_ms, count)), origin: [] };
}

export function processes(): Process[] {
  const all: Process[] = [];
  const add = (pid: number, parent: number, command: string, cpu: number, more: Partial<Process> = {}) =>
    all.push({ pid, parent, started_ms: SPIKE_MS - pid * 1000, command, arguments: `${command} --number ${pid}`, user: pid % 3 === 0 ? "root" : "www-data", cgroup: `/system.slice/${command.replace(/\W/g, "")}.service`, state: "S", threads: 1 + (pid % 5), cpu_percent: cpu, user_percent: cpu * 0.8, system_percent: cpu * 0.2, rss_bytes: 1e6 * (pid % 97), read_bytes_s: pid % 7 === 0 ? 1e5 : 0, write_bytes_s: null, faults_s: 12, ended: false, ended_ms: null, lived_ms: null, exit: null, ...more });
  add(1, 0, "systemd", 0.1);
  for (let pid = 2; pid < 300; pid += 1) add(pid, pid % 10 === 0 ? 1 : pid - (pid % 10) || 1, pid % 10 === 0 ? "bash" : "sleep", 0);
  for (let pid = 1000; pid < 1040; pid += 1) add(pid, 10, "burst", 4.5, { ended: true, ended_ms: SPIKE_MS, lived_ms: 50, exit: 0 });
  add(4000, 1, HOSTILE, 3, { arguments: HOSTILE, user: HOSTILE });
  return all;
}

function databases(filter: string) {
  const paths = ["router/uplink.rrd", "router/bad.rrd", `${HOSTILE}.rrd`];
  const found = paths.filter((path) => path.includes(filter));
  const line = (path: string) => {
    const isBad = path.includes("bad");
    return { folder: "/rrd", path, bytes: isBad ? null : 25760, step_s: isBad ? null : 60, updated_ms: isBad ? null : NOW_MS, sources: isBad ? [] : ["in", HOSTILE], error: isBad ? "'router/bad.rrd' is not an RRD file" : null };
  };
  return { databases: found.map(line), found: found.length, total: paths.length, complaints: [] };
}

function partsOf(isFailing: boolean) {
  const well = { state: "runs", since_ms: NOW_MS - 9e6, failing_since_ms: null, next_ms: null, why: null, pid: 1234, failed: 0, last_error_ms: null, last_error: null, unwritten_since_ms: null, unwritten: null, cpu_percent: 0.31, cpu_seconds: 27.9, rss_bytes: 1.4e7, threads: 3, written_bytes: 8e8, written_bytes_s: 88_000 };
  const gone = { pid: null, cpu_percent: null, cpu_seconds: null, rss_bytes: null, threads: null, written_bytes: null, written_bytes_s: null };
  const error = { failed: 3, last_error_ms: NOW_MS - 4000, last_error: `cannot listen on 127.0.0.1:42217: ${HOSTILE}; it ended with exit code 2` };
  const unwritten = { unwritten_since_ms: NOW_MS - 120_000, unwritten: `cannot write /d/${HOSTILE}: No space left on device` };
  const failed = { ...well, ...gone, ...error, name: "rrdcached", state: "pauses", since_ms: NOW_MS - 4000, failing_since_ms: NOW_MS - 60_000, next_ms: NOW_MS + 4000 };
  const parts = [{ ...well, name: "service" }, { ...well, ...(isFailing ? unwritten : {}), name: "record" }, isFailing ? failed : { ...well, ...error, name: "rrdcached" }, { ...well, ...gone, name: HOSTILE, state: "waits", why: "the disk of /d is nearly full" }];
  return { now_ms: NOW_MS, started_ms: NOW_MS - 9e6, configuration: null, folder: "/d", full_since_ms: null, refused_ms: null, refused: null, streams_refused: 3, parts };
}

function target(device: string, name: string, size: number | null, failing = false) {
  const of = (factor: number) => (size === null ? null : size * factor);
  const failed = size === null || failing;
  const known = {
    title: `Port to ${size === null ? HOSTILE : "the next room"}`,
    in_limit: 125e6,
    out_limit: 12.5e6,
    failure: failed ? "no answer within 10 s" : null,
    failure_ms: failed ? NOW_MS : null,
    failing_since_ms: size === null ? NOW_MS - 9e6 : null,
  };
  return { device, target: name, unit: "count/s", in_last: of(1), in_mean: of(0.5), in_max: of(2), out_last: of(0.1), out_mean: of(0.05), out_max: of(0.2), newest_ms: size === null ? NOW_MS - 9e6 : NOW_MS, is_current: size !== null, page: name === "uplink" ? "uplink.html" : null, ...known };
}

function alerts() {
  const rule = { name: "busy", when: "node_load1 > 20", for_ms: 300_000, state: "fires", firing: 1, since_ms: SPIKE_MS - 300_000, error: null, to: "mail:a@b, webhook:hooks.example" };
  const alert = { rule: "busy", host: "alpha", labels: "device=sda", value: 21.5, from_ms: SPIKE_MS, thru_ms: null, has_data: true, told: true };
  const message = { at_ms: SPIKE_MS, rule: "busy", state: "begins", subject: "busy begins on alpha", to: "mail:a@b", tries: 1, taken_ms: SPIKE_MS + 2000, error: null };
  return {
    at_ms: NOW_MS,
    firing: 1,
    delivered: 1,
    dropped: 2,
    silenced: 0,
    rules: [rule, { ...rule, name: HOSTILE, state: "error", firing: 0, since_ms: null, for_ms: 0, error: HOSTILE, to: "" }],
    alerts: [alert, { ...alert, rule: HOSTILE, host: null, labels: `x=${HOSTILE}`, value: "NaN", thru_ms: NOW_MS, has_data: false, told: false }],
    messages: [{ ...message, to: "webhook:hooks.example", tries: 3, taken_ms: null, error: "Connection refused" }, message],
  };
}

function rowsOfDifferences() {
  return {
    rows: [
      { source: "cpu", field: "user", instance: null, label: "CPU time of users", unit: "percent", value: 78, base: 12, difference: 66, ratio: 6.5, score: 9.1 },
      { source: "disk", field: "write", instance: HOSTILE, label: "Written", unit: "bytes/s", value: 9e6, base: null, difference: null, ratio: null, score: 2 },
    ],
    processes: [
      { name: "burst", what: "cpu", value: 180, base: 0, unit: "percent" },
      { name: HOSTILE, what: "cpu", value: 3, base: 2.8, unit: "percent" },
    ],
  };
}

/** Characters that are no markup and would still break a table. */
export const ODD = "\u001b[31mred\u0007 \u202eright to left\u2066 second\nline \u0000 end";
const NO_LOSSES = { records: 0, of: [], damaged: [], damaged_more: 0 };

/** The log: a record each second, worse ones at times; one of a megabyte. */
function logRecord(at_ms: number): LogRecord {
  const second = Math.floor(at_ms / 1000);
  const level = second % 60 === 7 ? "ERROR" : second % 15 === 2 ? "WARNING" : second % 4 === 0 ? "DEBUG" : "INFO";
  const message = at_ms === SPIKE_MS ? `${HOSTILE} ${ODD}` : second % 97 === 0 ? "long ".repeat(800) : `request ${second % 100} answered in ${second % 13} ms`;
  const record: LogRecord = { id: `${at_ms}-00-0-1`, at_ms, time: new Date(at_ms).toISOString(), level, logger: second % 3 === 0 ? HOSTILE : "control/antenna", host: "alpha", process: `program${second % 3}`, pid: 100, thread: "main", file: "x.rs", line: 7, sequence: second, message, context: { Antenna: "DV01" }, data: { number: 7, text: HOSTILE } };
  return second % 97 === 0 ? { ...record, is_short: true, message_bytes: 1_000_000 } : record;
}

const LEVELS = ["TRACE", "DELOUSE", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"];

function logAnswer(name: string, query: URLSearchParams): unknown {
  const [from, thru] = [Number(query.get("from")), Math.min(Number(query.get("thru") ?? NOW_MS), NOW_MS)];
  const least = LEVELS.indexOf(query.get("level") ?? "TRACE");
  const words = (query.get("text") ?? "").toLowerCase().split(" ");
  const wanted = (record: LogRecord) => LEVELS.indexOf(record.level) >= least && words.every((word) => record.message.toLowerCase().includes(word));
  if (name === "record") {
    const record = logRecord(Number((query.get("id") ?? "").split("-")[0]));
    return record.is_short ? { ...record, is_short: undefined, message: "<b>long</b> \u202e".repeat(80_000) } : record;
  }
  if (name === "loggers") return { hosts: [{ name: "alpha", records: 3600 }], processes: [{ name: "program0", records: 9 }, { name: HOSTILE, records: 3 }], loggers: ["control/antenna", HOSTILE], left_out: 0 };
  const seconds = (work: (at: number) => boolean, isNewest: boolean) => {
    const [first, last] = [Math.ceil(from / 1000), Math.ceil(thru / 1000) - 1];
    for (let k = 0; k <= last - first; k += 1) if (!work((isNewest ? last - k : first + k) * 1000)) return;
  };
  if (name === "counts") {
    const step_ms = Math.max(Math.ceil((thru - from) / 100_000) * 1000, 1000);
    const count = Math.ceil((thru - from) / step_ms);
    const levels: Record<string, number[]> = {};
    for (const level of LEVELS) levels[level] = new Array<number>(count).fill(0);
    if (count * step_ms < 1e8) {
      seconds((at) => {
        const record = logRecord(at);
        const list = levels[record.level];
        const step = Math.floor((at - from) / step_ms);
        if (wanted(record) && list) list[step] = (list[step] ?? 0) + 1;
        return true;
      }, false);
    }
    return { from_ms: from, step_ms, levels, recorded: { from_ms: from, thru_ms: NOW_MS }, lost: { ...NO_LOSSES, records: 7, of: [{ host: "alpha", process: HOSTILE, why: "never arrived", records: 7 }] } };
  }
  const records: LogRecord[] = [];
  const [most, behind] = [Number(query.get("count")), Number((query.get("behind") ?? "").split("-")[0])];
  let more = false;
  seconds((at) => {
    const record = logRecord(at);
    if (!wanted(record) || (behind > 0 && at >= behind)) return true;
    more = records.length === most;
    if (!more) records.push(record);
    return !more;
  }, query.get("order") !== "oldest");
  return { records, behind: more ? records.at(-1)?.id : null, lost: NO_LOSSES };
}

export interface Fake {
  address: string;
  /** Every answer is this error, if there is one. */
  failing: { status: number; error: string } | null;
  /** No connection is taken, and those that are there end. */
  drop: () => Promise<void>;
  restore: () => Promise<void>;
  /** Whether a part of the service fails. */
  isFailing: boolean;
  /** Whether the network by process was recorded. */
  hasNetwork: boolean;
  /** The sections that it says it has. */
  sections: string[];
  /** What is recorded of the first host, and whether charts show it. */
  sources: string[];
  hasCharts: boolean;
  /** Sends a sample to every page that listens. */
  sample: (at_ms: number, user: number) => void;
  /** Sends records, and says how many it left out, to every page that listens to the log. */
  logged: (at_ms: number, message: string, missed: number) => void;
  listeners: () => number;
  requests: string[];
  end: () => Promise<void>;
}

/** A server; pictures have a name that is `shown` in place of the hostile one. */
export async function fake(shown?: string): Promise<Fake> {
  const streams = new Set<ServerResponse>();
  const tails = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const host: Host = {
    host: "alpha", from_ms: NOW_MS - YEAR_MS, thru_ms: NOW_MS, interval_ms: 1000, is_live: true, cpus: 4, kernel: "6.1.0-41-amd64", boot_ms: NOW_MS - 9e8, timezone: "America/New_York",
    spans: [{ from_ms: NOW_MS - YEAR_MS, thru_ms: NOW_MS }], gaps: [GAP], sources: ["cpu", "disk", "memory", "network", "process"],
  };
  const usual = { host: "beta & <b>sons</b>", timezone: null, is_live: false, server: "beta & <b>sons</b>" };
  const json = (response: ServerResponse, value: unknown, status = 200) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    const text = JSON.stringify(value);
    response.end(shown === undefined ? text : text.replaceAll(JSON.stringify(HOSTILE).slice(1, -1), shown).replaceAll("beta & <b>sons</b>", "beta"));
  };
  const api = (name: string, query: URLSearchParams, response: ServerResponse) => {
    if (fakeServer.failing) return json(response, { error: fakeServer.failing.error }, fakeServer.failing.status);
    switch (name) {
      case "sections":
        return json(response, { sections: fakeServer.sections });
      case "hosts":
        return json(response, { now_ms: NOW_MS, hosts: [{ ...host, sources: fakeServer.sources }, { ...host, ...usual }], unreachable: [{ host: HOSTILE, url: "http://other:9797", since_ms: NOW_MS - 60_000, why: "Connection refused" }] });
      case "charts":
        return json(response, { charts: fakeServer.hasCharts ? CHARTS : [] });
      case "chart": {
        const data = query.getAll("id").map((id) => chartData(id, query));
        return json(response, data.length === 1 ? data[0] : { charts: data });
      }
      case "ruler": {
        const asked = new URLSearchParams(query);
        if (!query.has("from")) [["from", host.from_ms], ["thru", NOW_MS]].forEach(([key, value]) => asked.set(String(key), String(value)));
        const data = chartData("cpu", asked);
        const { mean = [], max = [] } = data.series[0] ?? {};
        const within = SPIKE_MS >= Number(asked.get("from")) && SPIKE_MS <= Number(asked.get("thru"));
        const spikes = within ? [{ at_ms: SPIKE_MS, chart: "cpu", label: "CPU user", value: 78, usual: 12 }] : [];
        return json(response, { from_ms: data.from_ms, step_ms: data.step_ms, mean, max, spikes, gaps: [GAP] });
      }
      case "moment": {
        const at = Math.ceil(Number(query.get("at")) / 1000) * 1000;
        const tables = [{ name: "disk", title: "Disks", columns: [{ id: "name", label: "Disk", unit: null }, { id: "read", label: "Read", unit: "bytes/s" }], rows: [["sda", 1.2e6], [HOSTILE, null]] }];
        const network = (one: Process) => ({ ...one, received_bytes_s: one.ended ? one.pid : null, sent_bytes_s: one.ended ? 10 * one.pid : null });
        const all = fakeServer.hasNetwork ? processes().map(network) : processes();
        return json(response, { at_ms: at, before_ms: at - 1000, processes: all, tables });
      }
      case "heaviest":
        return json(response, { what: query.get("what"), unit: query.get("what") === "cpu" ? "seconds" : "bytes", by: query.get("by"), total: 1000, rows: [{ name: "burst", what: "cpu", value: 600, share: 0.6, processes: 400, ended: 400 }, { name: HOSTILE, value: 90, share: 0.09, processes: 1, ended: 0 }] });
      case "databases":
        return json(response, databases(query.get("filter") ?? ""));
      case "databases/file":
        return json(response, { folder: "/rrd", path: query.get("path"), bytes: 25760, step_s: 60, updated_ms: NOW_MS, has_definition: false, sources: ["in", HOSTILE].map((name) => ({ name, kind: "GAUGE", heartbeat_s: 120, min: null, max: 100 })), archives: [{ function: "AVERAGE", step_s: 60, rows: 600, from_ms: NOW_MS - YEAR_MS, thru_ms: NOW_MS }] });
      case "databases/data": {
        const asked = query.getAll("source");
        const names = ["in", HOSTILE].filter((name) => asked.length === 0 || asked.includes(name));
        const { from_ms, step_ms, series } = chartData("network", query);
        return json(response, { path: query.get("path"), function: "AVERAGE", from_ms, step_ms, series: names.map((id, k) => ({ ...series[k], id, label: id, instance: null })) });
      }
      case "databases/graph":
        response.writeHead(200, { "Content-Type": "image/svg+xml" });
        return response.end(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="100"><text x="9" y="50">picture</text></svg>`);
      case "alerts":
        return json(response, alerts());
      case "devices":
        return json(response, { index: "mrtg/", targets: [target("router", "uplink", 4e6), target("router", HOSTILE, null), target("switch", "eth1", 9e6, true)] });
      case "devices/target": {
        const { from_ms, step_ms, series } = chartData("network", query);
        return json(response, { id: "target", unit: "count/s", from_ms, step_ms, series: ["in", "out"].map((id, k) => ({ ...series[k], id, label: id, instance: null })) });
      }
      case "parts":
        return json(response, partsOf(fakeServer.isFailing));
      case "parts/curves": {
        const chart = (id: string, title: string, unit: string, like: string) => {
          const { from_ms, step_ms, series } = chartData(like, query);
          return { id, title, unit, from_ms, step_ms, series: ["service", "record", HOSTILE].map((name, k) => ({ ...series[k % series.length], id: name, label: name, instance: null })) };
        };
        return json(response, { host: "alpha", charts: [chart("cpu", "CPU of whit", "percent", "cpu"), chart("memory", "Memory of whit", "bytes", "memory"), chart("threads", "Threads of whit", "count", "load"), chart("written", "Written by whit", "bytes/s", "network")] });
      }
      case "compare":
      case "explain":
        return json(response, rowsOfDifferences());
      case "logs/live":
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
        response.write("event: begin\ndata: {}\n\n");
        tails.add(response);
        response.on("close", () => tails.delete(response));
        return;
      case "logs/records":
      case "logs/record":
      case "logs/counts":
      case "logs/loggers":
        return json(response, logAnswer(name.slice(5), query));
      case "live":
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
        response.write(": here\n\n");
        streams.add(response);
        response.on("close", () => streams.delete(response));
        return;
      default:
        return json(response, { error: `there is no ${name}` }, 404);
    }
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const address = new URL(request.url ?? "/", "http://127.0.0.1");
    fakeServer.requests.push(address.pathname + address.search);
    if (address.pathname.startsWith("/api/whit/v1/")) return api(address.pathname.slice(13), address.searchParams, response);
    const name = address.pathname === "/" ? "index.html" : address.pathname.slice(1);
    const path = join(FILES, name);
    if (name.includes("..") || !existsSync(path)) return json(response, { error: "no such file" }, 404);
    const policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    response.writeHead(200, { "Content-Type": TYPES[name.split(".").at(-1) ?? ""] ?? "text/plain", "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff" });
    response.end(await readFile(path));
  };
  let server: Server;
  let port = 0;
  const listen = async () => {
    server = createServer((request, response) => void answer(request, response));
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
    port = (server.address() as AddressInfo).port;
  };
  const drop = async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const fakeServer: Fake = {
    address: "",
    failing: null,
    isFailing: false,
    hasNetwork: false,
    sections: [],
    sources: host.sources,
    hasCharts: true,
    drop,
    restore: listen,
    sample: (at_ms, user) => {
      const charts: Record<string, Record<string, number>> = {};
      for (const info of CHARTS) {
        const values = () => Object.fromEntries(info.series.map(({ id }) => [id, id === "user" ? user : (SIZES[id] ?? 1)]));
        if (info.instances.length === 0) charts[info.id] = values();
        for (const name of info.instances) charts[`${info.id}/${name}`] = values();
      }
      const heaviest = [{ command: HOSTILE, pid: 4000, cpu_percent: user, rss_bytes: 5e6 }, { command: "burst", pid: 1001, cpu_percent: 2, rss_bytes: 3e6 }];
      for (const stream of streams) stream.write(`data: ${JSON.stringify({ at_ms, charts, heaviest })}\n\n`);
    },
    logged: (at_ms, message, missed) => {
      const record = { ...logRecord(at_ms), level: "INFO", id: `${at_ms}-01-0-1`, message };
      for (const tail of tails) tail.write(`data: ${JSON.stringify({ records: [record], missed, lost: NO_LOSSES })}\n\n`);
    },
    listeners: () => streams.size,
    requests: [],
    end: drop,
  };
  await listen();
  fakeServer.address = `http://127.0.0.1:${port}/`;
  return fakeServer;
}
