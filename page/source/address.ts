// Everything on screen has an address: what is shown, as the query of the page's address and back.

import type { ZoneChoice } from "./time";

/** The views, by the word of the address. */
const VIEWS = ["overview", "compare", "hosts", "logs", "devices", "databases", "alerts", "cost"] as const;
export type View = (typeof VIEWS)[number];
export type Grouping = "list" | "tree" | "command" | "user" | "cgroup";

export type Resource = "cpu" | "memory" | "read" | "write";
export type Owner = "command" | "user" | "cgroup" | "process";

/** What the page shows. */
export interface Shown {
  view: View;
  host: string | null;
  /** A fixed period; without one the page follows the newest sample. */
  from_ms: number | null;
  thru_ms: number | null;
  /** How long a period the page follows. */
  last_ms: number;
  /** The moment that is open. */
  at_ms: number | null;
  /** The table of the moment: `processes`, `difference`, or a table's name. */
  tab: string;
  by: Grouping;
  /** A column, `-` in front: the largest first. */
  sort: string;
  filter: string;
  /** The heaviest processes of the period: by what, and added up by what. */
  what: Resource;
  per: Owner;
  /** The start of the period that this one is compared with. */
  base_ms: number | null;
  zone: ZoneChoice;
  /** Which log records: words of their text, a level and above, names (`*` is any text). */
  text: string;
  level: string;
  logger: string;
  program: string;
  machine: string;
  /** The log record that is open. */
  record: string;
  /** Of the log records around a moment: their level and above, and how many seconds on each side. */
  near: string;
  around_s: number;
  /** The database that is open: its path. */
  database: string | null;
  /** The folder of the database, where several have one of that path. */
  folder: string | null;
  /** The data sources of the database that are shown; all without any. */
  sources: string[];
  /** The target that is open, and its device. */
  device: string | null;
  target: string | null;
  /** The instance that a chart shows, by chart. */
  instances: Record<string, string>;
}

export const HOUR_MS = 3_600_000;

/** The shortest period that the page shows. */
export const PERIOD_MS_MIN = 2000;

/** What an empty query shows. */
export function standard(): Shown {
  return {
    view: "overview",
    host: null,
    from_ms: null,
    thru_ms: null,
    last_ms: HOUR_MS,
    at_ms: null,
    tab: "processes",
    by: "list",
    sort: "",
    filter: "",
    what: "cpu",
    per: "command",
    base_ms: null,
    zone: "viewer",
    text: "",
    level: "",
    logger: "",
    program: "",
    machine: "",
    record: "",
    near: "WARNING",
    around_s: 10,
    database: null,
    folder: null,
    sources: [],
    device: null,
    target: null,
    instances: {},
  };
}

const GROUPINGS: readonly Grouping[] = ["list", "tree", "command", "user", "cgroup"];
export const RESOURCES: readonly Resource[] = ["cpu", "memory", "read", "write"];
export const OWNERS: readonly Owner[] = ["command", "user", "cgroup", "process"];
/** The levels of log records, from the least on. */
export const LEVELS = ["TRACE", "DELOUSE", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"] as const;
const LOG_WORDS = ["text", "level", "logger", "program", "machine", "record", "near"] as const;
/** What is open in a view, each under its own name. */
const PLACES = ["database", "folder", "device", "target"] as const;
const ZONES: readonly ZoneChoice[] = ["viewer", "machine", "utc"];

function time(text: string | null): number | null {
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

function one<T extends string>(text: string | null, all: readonly T[], otherwise: T): T {
  return all.find((word) => word === text) ?? otherwise;
}

/** What a query shows.  What it says wrongly is left at its standard. */
export function parse(query: string): Shown {
  const given = new URLSearchParams(query);
  const shown = standard();
  shown.view = one(given.get("view"), VIEWS, shown.view);
  shown.host = given.get("host");
  const from = time(given.get("from"));
  const thru = time(given.get("thru"));
  if (from !== null && thru !== null && thru > from) {
    shown.from_ms = from;
    shown.thru_ms = Math.max(thru, from + PERIOD_MS_MIN);
  }
  shown.last_ms = Math.max(time(given.get("last")) ?? HOUR_MS, PERIOD_MS_MIN);
  shown.at_ms = time(given.get("at"));
  shown.tab = given.get("tab") ?? shown.tab;
  shown.by = one(given.get("by"), GROUPINGS, shown.by);
  shown.sort = given.get("sort") ?? shown.sort;
  shown.filter = given.get("filter") ?? "";
  shown.what = one(given.get("what"), RESOURCES, shown.what);
  shown.per = one(given.get("per"), OWNERS, shown.per);
  shown.base_ms = time(given.get("base"));
  shown.zone = one(given.get("zone"), ZONES, shown.zone);
  for (const name of LOG_WORDS) shown[name] = given.get(name) ?? shown[name];
  shown.level = one(shown.level, ["", ...LEVELS], "");
  shown.near = one(shown.near, LEVELS, "WARNING");
  shown.around_s = Math.min(Math.max(time(given.get("around")) ?? shown.around_s, 1), 3600);
  for (const name of PLACES) shown[name] = given.get(name);
  shown.sources = given.getAll("source");
  for (const [name, value] of given) {
    if (name.startsWith("of.")) shown.instances[name.slice(3)] = value;
  }
  return shown;
}

/** The query that shows this; what is as an empty query shows it is left out. */
export function query(shown: Shown): string {
  const usual = standard();
  const words = new URLSearchParams();
  const add = (name: string, value: string | number | null, otherwise: string | number | null) => {
    if (value !== null && value !== otherwise) words.set(name, String(value));
  };
  add("view", shown.view, usual.view);
  add("host", shown.host, null);
  if (shown.from_ms !== null && shown.thru_ms !== null) {
    add("from", Math.round(shown.from_ms), null);
    add("thru", Math.round(shown.thru_ms), null);
  } else {
    add("last", Math.round(shown.last_ms), usual.last_ms);
  }
  add("at", shown.at_ms, null);
  add("tab", shown.tab, usual.tab);
  add("by", shown.by, usual.by);
  add("sort", shown.sort, usual.sort);
  add("filter", shown.filter, usual.filter);
  add("what", shown.what, usual.what);
  add("per", shown.per, usual.per);
  add("base", shown.base_ms, null);
  add("zone", shown.zone, usual.zone);
  for (const name of LOG_WORDS) add(name, shown[name], usual[name]);
  add("around", shown.around_s, usual.around_s);
  for (const name of PLACES) add(name, shown[name], null);
  for (const source of shown.sources) words.append("source", source);
  for (const chart of Object.keys(shown.instances).sort()) add(`of.${chart}`, shown.instances[chart] ?? "", "");
  const text = words.toString();
  return text === "" ? "" : `?${text}`;
}
