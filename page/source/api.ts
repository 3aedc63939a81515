// The interface of `whit serve`, typed, and what can go wrong with it.

import { answerOf, Refused, report } from "./report";

const BASE = "api/whit/v1/";

export interface Period {
  from_ms: number;
  thru_ms: number;
}

export interface Host extends Period {
  host: string;
  interval_ms: number;
  is_live: boolean;
  cpus: number | null;
  kernel: string | null;
  boot_ms: number | null;
  /** The zone of the machine's clock, where the recording says it. */
  timezone?: string | null;
  spans: Period[];
  gaps: Period[];
  sources: string[];
  /** The name of the other whit that has it; questions beside recordings are passed on to that one. */
  server?: string | null;
}

export interface ChartInfo {
  id: string;
  title: string;
  unit: string;
  kind: "line" | "stack";
  group: string;
  instances: string[];
  series: { id: string; label: string }[];
}

export type Values = (number | null)[];

export interface Series {
  id: string;
  label: string;
  instance?: string | null;
  mean: Values;
  min: Values;
  max: Values;
}

export interface ChartData {
  id: string;
  unit: string;
  from_ms: number;
  step_ms: number;
  series: Series[];
  origin?: ("recording" | "history" | null)[];
  /** The longest time that a row of the history stands for. */
  history_step_ms?: number | null;
}

export interface Spike {
  at_ms: number;
  chart: string;
  label: string;
  value: number;
  usual: number | null;
}

export interface RulerData {
  from_ms: number;
  step_ms: number;
  max: Values;
  mean: Values;
  spikes: Spike[];
  gaps: Period[];
}

export interface Process {
  pid: number;
  parent: number | null;
  started_ms: number | null;
  command: string;
  arguments: string | null;
  user: string | null;
  cgroup: string | null;
  state: string | null;
  threads: number | null;
  cpu_percent: number | null;
  user_percent: number | null;
  system_percent: number | null;
  rss_bytes: number | null;
  read_bytes_s: number | null;
  write_bytes_s: number | null;
  /** Only if the network by process was recorded. */
  received_bytes_s?: number | null;
  sent_bytes_s?: number | null;
  faults_s: number | null;
  ended: boolean;
  ended_ms: number | null;
  lived_ms: number | null;
  exit: number | string | null;
}

export type Cell = string | number | boolean | null;

export interface Table {
  name: string;
  title: string;
  columns: { id: string; label: string; unit: string | null }[];
  rows: Cell[][];
}

export interface Moment {
  at_ms: number;
  before_ms: number | null;
  processes: Process[];
  /** Processes may be recorded less often than the rest. */
  processes_read?: { at_ms: number; before_ms: number | null; busy_percent: number | null } | null;
  tables: Table[];
}

export interface HeaviestRow {
  name: string;
  /** None where of all of them only the end is known. */
  value: number | null;
  share: number | null;
  processes: number | null;
  ended: number | null;
}

export interface Heaviest {
  what: string;
  unit: string;
  by: string;
  total: number | null;
  rows: HeaviestRow[];
}

export interface Difference {
  source: string;
  field: string;
  instance: string | null;
  label: string;
  unit: string;
  value: number | null;
  base: number | null;
  difference: number | null;
  ratio: number | null;
  score: number | null;
}

export interface ProcessDifference {
  name: string;
  what: string;
  value: number | null;
  base: number | null;
  unit: string;
}

export interface Compared {
  rows: Difference[];
  processes: ProcessDifference[];
}

export interface LiveSample {
  at_ms: number;
  charts: Record<string, Record<string, number | null>>;
  heaviest: { command: string; pid: number; cpu_percent: number | null; rss_bytes: number | null }[];
}

/** An answer that says what is wrong. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** No answer at all: the connection is lost. */
export class ConnectionError extends Error {}

export type Parameter = string | number | null | undefined | string[];

/** The address of a request; what has no value is left out. */
export function addressOf(name: string, parameters: Record<string, Parameter>): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      words.append(key, typeof one === "number" ? String(Math.round(one)) : one);
    }
  }
  const text = words.toString();
  return text === "" ? `${BASE}${name}` : `${BASE}${name}?${text}`;
}

/** What is asked of the file of the page itself. */
async function ofReport<T>(address: string, signal?: AbortSignal): Promise<T> {
  const [name = "", words] = address.slice(BASE.length).split("?");
  try {
    const answer = await answerOf(name, new URLSearchParams(words));
    signal?.throwIfAborted();
    return answer as T;
  } catch (error) {
    if (error instanceof Refused) throw new ServerError(error.message, 400);
    throw error;
  }
}

/** The answer to a request. */
export async function get<T>(address: string, signal?: AbortSignal): Promise<T> {
  if (report) return await ofReport<T>(address, signal);
  let answer: Response;
  try {
    answer = await fetch(address, signal ? { signal } : {});
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw new ConnectionError("the server does not answer");
  }
  if (answer.ok) {
    try {
      return (await answer.json()) as T;
    } catch (error) {
      if (error instanceof DOMException) throw error;
      // A connection that breaks within an answer leaves half of it.
      throw new ConnectionError("the answer of the server is not whole");
    }
  }
  let said = `${answer.status} ${answer.statusText}`;
  try {
    said = ((await answer.json()) as { error?: string }).error ?? said;
  } catch {
    // An answer without JSON has its status alone.
  }
  throw new ServerError(said, answer.status);
}

/** The sections of this server, or of another one that it asks. */
export const sections = async (of: string | null, signal?: AbortSignal): Promise<string[]> => {
  const found = await get<{ sections: unknown }>(addressOf("sections", { of }), signal);
  return Array.isArray(found.sections) ? found.sections.filter((name) => typeof name === "string") : [];
};

/** A question to a section that answers in JSON. */
export const question = <T>(address: string, signal?: AbortSignal) => get<T>(address, signal);

export interface DatabaseLine {
  folder: string;
  path: string;
  bytes: number | null;
  step_s: number | null;
  updated_ms: number | null;
  sources: string[];
  error: string | null;
}

export interface DatabaseList {
  databases: DatabaseLine[];
  /** How many have every word of the filter. */
  found: number;
  total: number;
  complaints: string[];
}

export interface DatabaseFacts {
  folder: string;
  path: string;
  bytes: number;
  step_s: number;
  updated_ms: number;
  sources: { name: string; kind: string; heartbeat_s: number; min: number | null; max: number | null }[];
  archives: { function: string; step_s: number; rows: number; from_ms: number; thru_ms: number }[];
  has_definition: boolean;
}

export interface DeviceTarget {
  device: string;
  target: string;
  unit: string;
  in_last: number | null;
  in_mean: number | null;
  in_max: number | null;
  out_last: number | null;
  out_mean: number | null;
  out_max: number | null;
  newest_ms: number | null;
  is_current: boolean;
  /** Its page below those of devices. */
  page: string | null;
  title: string | null;
  /** The largest values that it can have. */
  in_limit: number | null;
  out_limit: number | null;
  /** Why it could not be read last. */
  failure: string | null;
  failure_ms: number | null;
  /** Null if it could be read since. */
  failing_since_ms: number | null;
}

/** A rule of alerts. */
export interface AlertRule {
  name: string;
  when: string;
  for_ms: number;
  /** `fires`, `waits`, `quiet`, `no data`, `error`. */
  state: string;
  firing: number;
  since_ms: number | null;
  error: string | null;
  to: string;
}

/** An alert that fires, or one that has ended. */
export interface Alert {
  rule: string;
  host: string | null;
  labels: string;
  /** A text if it is not finite. */
  value: number | string;
  from_ms: number;
  thru_ms: number | null;
  has_data: boolean;
  told: boolean;
}

/** A message to a receiver. */
export interface AlertMessage {
  at_ms: number;
  rule: string;
  state: string;
  subject: string;
  to: string;
  tries: number;
  taken_ms: number | null;
  error: string | null;
}

export interface Alerts {
  at_ms: number | null;
  firing: number;
  rules: AlertRule[];
  alerts: Alert[];
  messages: AlertMessage[];
  dropped?: number;
}

/** Another host that does not answer. */
export interface Unreachable {
  host: string;
  url: string;
  since_ms: number;
  why: string;
}

export const hosts = (signal?: AbortSignal) => get<{ now_ms: number; hosts: Host[]; unreachable?: Unreachable[] }>(addressOf("hosts", {}), signal);

export const charts = (host: string, signal?: AbortSignal) =>
  get<{ charts: ChartInfo[] }>(addressOf("charts", { host }), signal);

export interface ChartQuery {
  host: string;
  id: string;
  from_ms: number;
  thru_ms: number;
  points: number;
  instance?: string | null;
}

/** The address of a chart's data, also as a file. */
export function chartAddress(asked: ChartQuery, format?: "csv"): string {
  const { host, id, from_ms, thru_ms, points, instance } = asked;
  return addressOf("chart", { host, id, from: from_ms, thru: thru_ms, points, instance, format });
}

export const chart = (asked: ChartQuery, signal?: AbortSignal) => get<ChartData>(chartAddress(asked), signal);

/** Several charts in one request. */
export async function chartsData(
  host: string,
  ids: string[],
  period: Period,
  points: number,
  signal?: AbortSignal,
): Promise<ChartData[]> {
  const address = addressOf("chart", { host, id: ids, from: period.from_ms, thru: period.thru_ms, points });
  const answer = await get<{ charts: ChartData[] } | ChartData>(address, signal);
  return "charts" in answer ? answer.charts : [answer];
}

export const ruler = (host: string, period: Period | null, points: number, signal?: AbortSignal) =>
  get<RulerData>(addressOf("ruler", { host, from: period?.from_ms, thru: period?.thru_ms, points }), signal);

export const moment = (host: string, at_ms: number, signal?: AbortSignal) =>
  get<Moment>(addressOf("moment", { host, at: at_ms }), signal);

export const explain = (host: string, at_ms: number, count: number, signal?: AbortSignal) =>
  get<Compared>(addressOf("explain", { host, at: at_ms, count }), signal);

export const heaviest = (
  host: string,
  period: Period,
  what: string,
  by: string,
  count: number,
  signal?: AbortSignal,
) => get<Heaviest>(heaviestAddress(host, period, what, by, count), signal);

export function heaviestAddress(
  host: string,
  period: Period,
  what: string,
  by: string,
  count: number,
  format?: "csv",
): string {
  return addressOf("heaviest", { host, from: period.from_ms, thru: period.thru_ms, what, by, count, format });
}

export function compareAddress(host: string, period: Period, base: Period, count: number, format?: "csv"): string {
  return addressOf("compare", {
    host,
    from: period.from_ms,
    thru: period.thru_ms,
    base_from: base.from_ms,
    base_thru: base.thru_ms,
    count,
    format,
  });
}

export const compare = (host: string, period: Period, base: Period, count: number, signal?: AbortSignal) =>
  get<Compared>(compareAddress(host, period, base, count), signal);

/** A record of a log; what it has beside these is shown as it is. */
export interface LogRecord {
  id: string;
  at_ms: number;
  level: string;
  logger?: string;
  host?: string;
  process?: string;
  pid?: number;
  message: string;
  /** Its message goes on: the record itself has all. */
  is_short?: boolean;
  message_bytes?: number;
  [name: string]: unknown;
}

export interface LogLosses {
  records: number;
  of: { host: string; process: string; why: string; records: number }[];
  damaged: { file: string; from: number; to: number }[];
  damaged_more: number;
}

export interface LogRecords {
  records: LogRecord[];
  behind: string | null;
  lost: LogLosses;
}

export interface LogCounts {
  from_ms: number;
  step_ms: number;
  levels: Record<string, Values>;
  recorded: Period | null;
  lost: LogLosses;
}

export interface LogNames {
  hosts: { name: string; records: number }[];
  processes: { name: string; records: number }[];
  loggers: string[];
  left_out: number;
}

export const logRecords = (asked: Record<string, Parameter>, signal?: AbortSignal) => get<LogRecords>(addressOf("logs/records", asked), signal);

export const logRecord = (id: string, of: string | null, signal?: AbortSignal) => get<LogRecord>(addressOf("logs/record", { id, of }), signal);

export const logCounts = (asked: Record<string, Parameter>, signal?: AbortSignal) => get<LogCounts>(addressOf("logs/counts", asked), signal);

export const logNames = (period: Period, of: string | null, signal?: AbortSignal) => get<LogNames>(addressOf("logs/loggers", { of, from: period.from_ms, thru: period.thru_ms }), signal);

/** What comes while one listens to a log. */
export interface LogTail {
  begin: () => void;
  records: (records: LogRecord[], missed: number, lost: LogLosses) => void;
  trouble: (why: string | null) => void;
  connected: (is: boolean) => void;
}

/** New records of a log as they are committed. */
export function logTail(asked: Record<string, Parameter>, tail: LogTail): { end: () => void } {
  const read = <T>(event: MessageEvent<string>, take: (data: T) => void) => {
    let data: T;
    try {
      data = JSON.parse(event.data) as T;
    } catch {
      return;
    }
    take(data);
  };
  return stream(addressOf("logs/live", asked), tail.connected, (source) => {
    source.addEventListener("begin", () => tail.begin());
    source.addEventListener("trouble", (event) => read<{ why: string | null }>(event as MessageEvent<string>, ({ why }) => tail.trouble(why)));
    source.onmessage = (event: MessageEvent<string>) => read<{ records: LogRecord[]; missed: number; lost: LogLosses }>(event, (data) => tail.records(data.records, data.missed, data.lost));
  });
}

/** How long to wait before a lost connection is tried again: longer each time. */
export function pause_ms(failures: number): number {
  return Math.min(1000 * 2 ** Math.max(failures - 1, 0), 15_000);
}

/** New samples as they come.  A lost connection is told, and tried again until `end` is called. */
export function live(
  host: string,
  ids: string[],
  sample: (sample: LiveSample) => void,
  connected: (is: boolean) => void,
): { end: () => void } {
  return stream(addressOf("live", { host, id: ids }), connected, (source) => {
    source.onmessage = (event: MessageEvent<string>) => {
      let read: LiveSample;
      try {
        read = JSON.parse(event.data) as LiveSample;
      } catch {
        return;
      }
      sample(read);
    };
  });
}

/** Server-sent events, which `listen` takes; a lost connection is tried again until `end` is called. */
function stream(address: string, connected: (is: boolean) => void, listen: (source: EventSource) => void): { end: () => void } {
  let source: EventSource | null = null;
  let timer = 0;
  let failures = 0;
  const open = () => {
    source = new EventSource(address);
    source.onopen = () => {
      failures = 0;
      connected(true);
    };
    listen(source);
    source.onerror = () => {
      // The browser tries again by itself only after some errors, and as often as it likes.
      source?.close();
      failures += 1;
      connected(false);
      timer = window.setTimeout(open, pause_ms(failures));
    };
  };
  open();
  return {
    end: () => {
      clearTimeout(timer);
      source?.close();
    },
  };
}
