// The records of the log: search, their counts by level beside the machine's CPU, a table with the newest
// first, and new ones as they come.

import { LEVELS } from "./address";
import * as api from "./api";
import type { ChartInfo, LiveSample, LogLosses, LogRecord } from "./api";
import { Chart } from "./chart";
import { addressOfChart, askedOf, openHighest, type Context } from "./context";
import { choice, h, isAbort } from "./dom";
import { recordTable } from "./records";

/** Records that are asked for at once, and the most of a page that follows. */
const AT_ONCE = 200;
const TAIL_MAX = 1000;
/** How often a page that follows asks for the curves again. */
const CURVES_MS = 5000;
/** How long a field must rest before the server is asked. */
const REST_MS = 250;

/** The levels of the curve, from the axis up. */
const GROUPS: [id: string, label: string, levels: readonly string[]][] = [
  ["error", "error and above", LEVELS.slice(6)],
  ["warning", "warning", ["WARNING"]],
  ["notice", "notice", ["NOTICE"]],
  ["info", "info", ["INFO"]],
  ["debug", "debug and below", LEVELS.slice(0, 3)],
];

const INFO: ChartInfo = { id: "logs", title: "Log records in each step", unit: "count", kind: "stack", group: "Logs", instances: [], series: GROUPS.map(([id, label]) => ({ id, label })) };

/** What is missing, in words; empty if nothing is. */
export function lossesText(lost: LogLosses): string {
  const said = lost.of.map((one) => `${one.records} of ${one.process} on ${one.host} (${one.why})`);
  const others = lost.records - lost.of.reduce((sum, one) => sum + one.records, 0);
  if (others > 0) said.push(`${others} of others`);
  const missing = lost.records > 0 ? `${lost.records} records are missing: ${said.join(", ")}. ` : "";
  const damaged = lost.damaged.length + lost.damaged_more;
  return missing + (damaged > 0 ? `${damaged} parts of the store are damaged (whit log verify).` : "");
}

/** The counts as a chart draws them. */
export function chartOf(counts: api.LogCounts): api.ChartData {
  const { from_ms, step_ms, levels } = counts;
  const series = GROUPS.filter(([, , names]) => names.some((name) => levels[name])).map(([id, label, names]) => {
    const of = names.flatMap((name) => (levels[name] ? [levels[name]] : []));
    const mean = (of[0] ?? []).map((_, k) => of.reduce<number | null>((sum, list) => (list[k] === null || list[k] === undefined ? sum : (sum ?? 0) + list[k]), null));
    return { id, label, mean, min: mean, max: mean };
  });
  return { id: "logs", unit: "count", from_ms, step_ms, series };
}

export class LogsView {
  readonly element = h("div", { class: "logs" });
  private readonly text = h("input", { type: "search", placeholder: "Words, or “a phrase” in quotes", "aria-label": "Search the text of records" });
  private readonly logger = h("input", { type: "search", placeholder: "any; * is any text", "aria-label": "logger", list: "loggers" });
  private readonly loggers = h("datalist", { id: "loggers" });
  private readonly tools = h("div", { class: "tools" });
  private readonly grid = h("div", { class: "grid" });
  private readonly said = h("p", { class: "sums", role: "status" });
  private readonly lost = h("p", { class: "lost", hidden: true });
  private readonly table = h("div", {});
  private readonly foot = h("p", { class: "foot" });
  private readonly charts: Chart[];
  private asked: AbortController | null = null;
  private tail: { end: () => void } | null = null;
  private key = "";
  private filterKey = "";
  private records: LogRecord[] = [];
  private behind: string | null = null;
  private missed = 0;
  private names: api.LogNames | null = null;
  private curves_ms = 0;
  private waiting = 0;
  private drawing = 0;

  constructor(private context: Context) {
    const cpu = context.infos.find((info) => info.id === "cpu");
    this.charts = [INFO, ...(cpu ? [cpu] : [])].map((info) => this.chart(info));
    this.text.addEventListener("input", () => this.typed());
    this.logger.addEventListener("input", () => this.typed());
    this.grid.append(...this.charts.map((chart) => chart.element));
    this.element.append(this.tools, this.grid, h("section", { class: "card", "aria-label": "Records" }, this.said, this.lost, this.table, this.foot));
  }

  private chart(info: ChartInfo): Chart {
    const isLogs = info === INFO;
    const { points } = { points: () => Chart.points(this.grid.clientWidth / 2) };
    const address = (format?: "csv") => (isLogs ? api.addressOf("logs/counts", { ...this.filter(), ...this.times(), points: points(), format }) : addressOfChart(this.context, info, points(), format));
    return new Chart(
      info,
      {
        zoom: (from_ms, thru_ms) => this.context.go({ from_ms: Math.round(from_ms), thru_ms: Math.round(thru_ms) }),
        open: (at_ms, step_ms) => (isLogs ? this.context.go({ at_ms: Math.round(at_ms), tab: "logs" }) : void openHighest(this.context, info, at_ms, step_ms)),
        move: (factor, about_ms, share) => this.context.move(factor, about_ms, share),
        instance: () => undefined,
        file: address,
      },
      "",
    );
  }

  /** A field is read when it rests. */
  private typed() {
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.context.go({ text: this.text.value, logger: this.logger.value, record: "" }, true), REST_MS);
  }

  private filter(): Record<string, api.Parameter> {
    const { text, level, logger, program, machine } = this.context.shown;
    return { of: askedOf(this.context), text: text || null, level: level || null, logger: logger || null, process: program || null, host: machine || null };
  }

  private get follows() {
    return this.context.shown.from_ms === null && this.context.host.is_live;
  }

  /** The period; of a page that follows, on to what comes. */
  private times(): Record<string, api.Parameter> {
    const { from_ms, thru_ms } = this.context.period;
    return { from: Math.floor(from_ms), thru: this.follows ? null : Math.ceil(thru_ms) };
  }

  update(context: Context) {
    this.context = context;
    const { shown, period, host } = context;
    for (const [field, value] of [[this.text, shown.text], [this.logger, shown.logger]] as const) {
      if (field.value !== value && document.activeElement !== field) field.value = value;
    }
    const filterKey = JSON.stringify([this.filter(), this.follows]);
    const key = JSON.stringify([filterKey, host.host, this.follows ? shown.last_ms : period]);
    this.drawTools();
    if (key !== this.key) {
      this.key = key;
      this.reload(filterKey);
    } else {
      this.draw();
      for (const chart of this.charts) chart.mark(shown.at_ms);
    }
  }

  /** Asks for everything; a page that follows listens first, so that nothing is between. */
  reload(filterKey = this.filterKey) {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    this.missed = 0;
    this.element.setAttribute("aria-busy", "true");
    const isOther = filterKey !== this.filterKey;
    this.filterKey = filterKey;
    if (!this.follows || isOther) {
      this.tail?.end();
      this.tail = null;
    }
    const work = async () => {
      await Promise.all([this.loadCurves(asked.signal), this.loadRecords(asked.signal), this.loadNames(asked.signal)]);
      if (this.follows && !this.tail) this.listen(asked.signal);
      this.element.dataset["loaded"] = this.key;
      this.context.fine();
    };
    work()
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.reload());
      })
      .finally(() => {
        if (this.asked === asked) this.element.removeAttribute("aria-busy");
      });
  }

  private async loadCurves(signal?: AbortSignal) {
    const { host, period, shown, zone } = this.context;
    this.curves_ms = period.thru_ms;
    const points = Chart.points(this.charts[0]?.element.clientWidth ?? 600);
    const [logs, cpu] = this.charts;
    const [counts, data] = await Promise.all([
      api.logCounts({ ...this.filter(), from: Math.floor(period.from_ms), thru: Math.ceil(period.thru_ms), points }, signal),
      cpu ? api.chart({ host: host.host, id: cpu.info.id, ...period, points }, signal) : null,
    ]);
    logs?.show({ data: chartOf(counts), ...period, at_ms: shown.at_ms, zone, instance: "" });
    if (data) cpu?.show({ data, ...period, at_ms: shown.at_ms, zone, instance: "" });
    this.tell(lossesText(counts.lost));
  }

  private async loadRecords(signal?: AbortSignal) {
    const found = await api.logRecords({ ...this.filter(), ...this.times(), count: AT_ONCE }, signal);
    this.records = found.records;
    this.behind = found.behind;
    this.draw();
  }

  private async loadNames(signal: AbortSignal) {
    const { period } = this.context;
    this.names = await api.logNames({ from_ms: Math.floor(period.from_ms), thru_ms: Math.ceil(period.thru_ms) }, askedOf(this.context), signal);
    this.loggers.replaceChildren(...this.names.loggers.map((name) => h("option", { value: name })));
    this.drawTools();
  }

  /** More records behind the last one. */
  private older() {
    const signal = this.asked?.signal;
    const work = async () => {
      const found = await api.logRecords({ ...this.filter(), ...this.times(), count: AT_ONCE, behind: this.behind }, signal);
      this.records = [...this.records, ...found.records];
      this.behind = found.behind;
      this.draw();
      this.context.fine();
    };
    work().catch((error: unknown) => {
      if (!isAbort(error)) this.context.fail(error, () => this.older());
    });
  }

  /** Takes new records as they come, on top of the others. */
  private listen(signal: AbortSignal) {
    const add = (records: LogRecord[]) => {
      const known = new Set(this.records.slice(0, AT_ONCE + TAIL_MAX).map((record) => record.id));
      const fresh = records.filter((record) => !known.has(record.id));
      if (fresh.length === 0) return;
      this.records = [...fresh.reverse(), ...this.records].sort((one, other) => other.at_ms - one.at_ms);
      if (this.records.length > TAIL_MAX) {
        // What is cut is found again by its last one.
        this.records.length = TAIL_MAX;
        this.behind = this.records.at(-1)?.id ?? null;
      }
      this.drawing ||= requestAnimationFrame(() => {
        this.drawing = 0;
        this.draw();
      });
    };
    this.tail = api.logTail(this.filter(), {
      // What was committed before the server listened is asked for once more.
      begin: () => void api.logRecords({ ...this.filter(), ...this.times(), count: AT_ONCE }, signal).then(({ records }) => add(records.reverse())).catch((error: unknown) => isAbort(error) || this.context.fail(error, () => undefined)),
      records: (records, missed, lost) => {
        this.missed += missed;
        const text = lossesText(lost);
        if (text !== "") this.tell(text);
        add(records);
        if (records.length === 0) this.draw();
      },
      trouble: (why) => this.tell(why === null ? "" : `The log cannot be read: ${why}`),
      connected: (is) => this.element.classList.toggle("unconnected", !is),
    });
  }

  live(context: Context, sample: LiveSample) {
    this.context = context;
    if (sample.at_ms - this.curves_ms < CURVES_MS) return;
    this.loadCurves(this.asked?.signal).catch((error: unknown) => {
      if (!isAbort(error)) this.context.fail(error, () => this.reload());
    });
  }

  private tell(text: string) {
    this.lost.textContent = text;
    this.lost.hidden = text === "";
  }

  private drawTools() {
    const { shown, go, period } = this.context;
    const level: [string, string][] = [["", "all"], ...LEVELS.map((name): [string, string] => [name, `${name.toLowerCase()} and above`])];
    const named = (names: { name: string }[] | undefined, chosen: string): [string, string][] => {
      const all: [string, string][] = [["", "all"], ...(names ?? []).map(({ name }): [string, string] => [name, name || "(no name)"])];
      return chosen === "" || all.some(([name]) => name === chosen) ? all : [...all, [chosen, chosen]];
    };
    const key = JSON.stringify([shown.level, shown.program, shown.machine, this.follows, this.names, this.filter(), this.follows ? 0 : period]);
    if (this.tools.dataset["key"] === key) return;
    this.tools.dataset["key"] = key;
    const focused = this.tools.contains(document.activeElement) ? document.activeElement : null;
    const label = focused?.getAttribute("aria-label");
    const pause = this.follows
      ? h("button", { type: "button", title: "Stay at this period; “live” above goes on", click: () => go({ from_ms: Math.round(period.from_ms), thru_ms: Math.round(this.context.period.thru_ms) }) }, "Pause")
      : null;
    const saved = (format?: "csv") => api.addressOf("logs/records", { ...this.filter(), ...this.times(), count: 1000, format });
    this.tools.replaceChildren(
      this.text,
      choice("level", level, shown.level, (value) => go({ level: value })),
      h("label", { class: "choice" }, h("span", { "aria-hidden": "true" }, "logger"), this.logger),
      this.loggers,
      choice("program", named(this.names?.processes, shown.program), shown.program, (value) => go({ program: value })),
      choice("on", named(this.names?.hosts, shown.machine), shown.machine, (value) => go({ machine: value })),
      ...(pause ? [pause] : []),
      h("a", { href: saved("csv"), download: "logs.csv" }, "CSV"),
      h("a", { href: saved(), target: "_blank" }, "JSON"),
    );
    if (label) this.tools.querySelector<HTMLElement>(`[aria-label="${label}"]`)?.focus();
  }

  private draw() {
    const { period, shown } = this.context;
    const scroll = this.table.querySelector(".scroll");
    const places = [scroll?.scrollTop ?? 0, scroll?.scrollLeft ?? 0];
    const more = this.behind === null ? "" : ", the newest ones";
    const missed = this.missed > 0 ? `; ${this.missed} came too fast to be shown here: they are in the store` : "";
    this.said.textContent = `${this.records.length} records${more}${missed}`;
    this.table.replaceChildren(recordTable(this.context, this.records, "Log records, the newest first", period.thru_ms - period.from_ms > 20 * 3_600_000, shown.record));
    const now = this.table.querySelector(".scroll");
    if (now) [now.scrollTop, now.scrollLeft] = [places[0] ?? 0, places[1] ?? 0];
    this.foot.replaceChildren(this.behind === null ? "These are all of this period." : h("button", { type: "button", click: () => this.older() }, "Older records"));
    if (this.records.length === 0) this.foot.textContent = "No record of this period fits: choose other words, a lower level or a longer period.";
  }

  end() {
    this.asked?.abort();
    this.tail?.end();
    clearTimeout(this.waiting);
    cancelAnimationFrame(this.drawing);
    for (const chart of this.charts) chart.end();
  }
}

/** The log records around a moment, for the moment's own view. */
export class LogsAround {
  readonly element = h("div", { class: "around" });
  private asked: AbortController | null = null;
  private key = "";
  private found: api.LogRecords | null = null;

  private asking(context: Context, at_ms: number): Record<string, api.Parameter> {
    const { near, around_s } = context.shown;
    const around = around_s * 1000;
    return { of: askedOf(context), level: near, from: Math.max(0, Math.floor(at_ms - around)), thru: Math.ceil(at_ms + around), order: "oldest", count: 1000 };
  }

  /** The address of what is shown. */
  address(context: Context, at_ms: number, format?: "csv") {
    return api.addressOf("logs/records", { ...this.asking(context, at_ms), format });
  }

  /** The choices beside it. */
  tools({ shown, go }: Context): HTMLElement[] {
    const levels = LEVELS.map((name): [string, string] => [name, name === "TRACE" ? "all" : `${name.toLowerCase()} and above`]);
    const lengths = [...new Set([1, 10, 60, 600, shown.around_s])].sort((a, b) => a - b).map((one): [string, string] => [String(one), one < 60 ? `${one} s` : `${one / 60} min`]);
    return [
      choice("level", levels, shown.near, (near) => go({ near }, true)),
      choice("on each side", lengths, String(shown.around_s), (value) => go({ around_s: Number(value) }, true)),
    ];
  }

  update(context: Context, at_ms: number) {
    const asking = this.asking(context, at_ms);
    const key = JSON.stringify(asking);
    if (key === this.key) return this.draw(context, at_ms);
    this.key = key;
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    this.found = null;
    this.element.replaceChildren(h("p", {}, "Looking for log records …"));
    api.logRecords(asking, asked.signal).then(
      (found) => {
        this.found = found;
        this.draw(context, at_ms);
      },
      (error: unknown) => {
        if (isAbort(error)) return;
        this.key = "";
        this.element.replaceChildren(h("p", { class: "missing" }, error instanceof Error ? error.message : String(error)));
      },
    );
  }

  private draw(context: Context, at_ms: number) {
    const { found } = this;
    if (!found) return;
    const words = context.shown.filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const records = found.records.filter((record) => words.every((word) => `${record.message} ${record.logger ?? ""} ${record.process ?? ""} ${record.level}`.toLowerCase().includes(word)));
    const more = found.behind === null ? "" : ` The first ${found.records.length} of more: choose a higher level or a shorter time.`;
    this.element.replaceChildren(
      records.length === 0
        ? h("p", { class: "missing" }, "No log record around this moment fits: choose a lower level or a longer time.")
        : recordTable(context, records, "Log records around this moment", false, context.shown.record, at_ms),
      h("p", { class: "foot" }, `${records.length} records.${more} ${lossesText(found.lost)}`),
    );
  }
}

