// A moment: every process of one sample, those that had ended included, the tables of the machine, and what
// differs from the time before.

import * as api from "./api";
import type { Cell, Compared, Moment, Process, Table } from "./api";
import type { Grouping } from "./address";
import type { Context } from "./context";
import { differences } from "./differences";
import { choice, h, isAbort } from "./dom";
import { duration, formatted, MISSING } from "./format";
import { LogsAround } from "./logs";
import { grouped, hasNetwork, sum, tree, type Branch, type Group } from "./processes";
import { momentTimes, nearestMoment, NotInReport, report } from "./report";
import { savingLinks } from "./saving";
import { tableOf, type Column } from "./table";
import { clock, dateAndClock } from "./time";

/** Fields that are asked for of what differs. */
const DIFFERENCES = 60;

const number = <Row>(id: string, label: string, unit: string, value: (row: Row) => Cell): Column<Row> => ({ id, label, unit, value });
const words = <Row>(id: string, label: string, value: (row: Row) => Cell): Column<Row> => ({ id, label, unit: null, value });

/** What was received and sent, if that was recorded. */
const network = <Row extends { received_bytes_s?: number | null; sent_bytes_s?: number | null }>(isThere: boolean): Column<Row>[] =>
  isThere
    ? [number("received", "Received", "bytes/s", (row) => row.received_bytes_s ?? null), number("sent", "Sent", "bytes/s", (row) => row.sent_bytes_s ?? null)]
    : [];

const GROUP_COLUMNS = (by: string, isNetworkThere: boolean): Column<Group>[] => [
  words("name", by, (row) => row.name),
  number("cpu", "CPU", "percent", (row) => row.cpu_percent),
  number("rss", "Memory", "bytes", (row) => row.rss_bytes),
  number("read", "Read", "bytes/s", (row) => row.read_bytes_s),
  number("write", "Write", "bytes/s", (row) => row.write_bytes_s),
  ...network<Group>(isNetworkThere),
  { ...number("processes", "Processes", "count", (row: Group) => row.processes), shown: (row) => String(row.processes) },
  { ...number("ended", "Ended", "count", (row: Group) => row.ended), shown: (row) => String(row.ended) },
];

/** The columns of processes: of each its command first, with its place in the tree. */
function columns<Row>(of: (row: Row) => Process, depth: (row: Row) => number, at_ms: number, isNetworkThere: boolean): Column<Row>[] {
  const column = ({ id, label, unit, value, shown }: Column<Process>): Column<Row> => ({
    id,
    label,
    unit,
    value: (row) => value(of(row)),
    ...(shown ? { shown: (row: Row) => shown(of(row)) } : {}),
  });
  const command: Column<Row> = {
    id: "command",
    label: "Command",
    unit: null,
    value: (row) => of(row).command,
    shown: (row) => {
      const { command: name, ended } = of(row);
      const inner = h("span", {}, name, ended ? h("em", {}, " ended") : null);
      inner.style.paddingInlineStart = `${Math.min(depth(row), 30) * 0.9}em`;
      return inner;
    },
  };
  return [
    command,
    column({ ...number<Process>("pid", "Process", "count", (one) => one.pid), shown: (one) => String(one.pid) }),
    column(number("cpu", "CPU", "percent", (one) => one.cpu_percent)),
    column(number("rss", "Memory", "bytes", (one) => one.rss_bytes)),
    column(number("read", "Read", "bytes/s", (one) => one.read_bytes_s)),
    column(number("write", "Write", "bytes/s", (one) => one.write_bytes_s)),
    ...network<Process>(isNetworkThere).map(column),
    column(words("user", "User", (one) => one.user)),
    column(words("state", "State", (one) => one.state)),
    column({ ...number<Process>("threads", "Threads", "count", (one) => one.threads), shown: (one) => String(one.threads ?? MISSING) }),
    column(number("usercpu", "User CPU", "percent", (one) => one.user_percent)),
    column(number("systemcpu", "System CPU", "percent", (one) => one.system_percent)),
    column(number("faults", "Faults", "count/s", (one) => one.faults_s)),
    column({
      ...number<Process>("age", "Lived", "seconds", (one) => one.lived_ms ?? (one.started_ms === null ? null : at_ms - one.started_ms)),
      shown: (one) => {
        const lived = one.lived_ms ?? (one.started_ms === null ? null : at_ms - one.started_ms);
        return lived === null ? MISSING : duration(lived);
      },
    }),
    column({ ...number<Process>("parent", "Parent", "count", (one) => one.parent), shown: (one) => String(one.parent ?? MISSING) }),
    column(words("exit", "Exit", (one) => (one.exit === null ? null : String(one.exit)))),
    column(words("cgroup", "Control group", (one) => one.cgroup)),
    column(words("arguments", "Arguments", (one) => one.arguments)),
  ];
}

export class MomentView {
  readonly element = h("section", { class: "moment", "aria-labelledby": "moment-title", hidden: true });
  private readonly title = h("h2", { id: "moment-title", tabindex: -1 });
  private readonly tabs = h("div", { class: "tools" });
  private readonly content = h("div", { class: "content" });
  private readonly sums = h("p", { class: "sums" });
  private readonly filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the rows" });
  private readonly around = new LogsAround();
  private asked: AbortController | null = null;
  private key = "";
  private data: Moment | null = null;
  private compared: Compared | null = null;

  constructor(private context: Context) {
    const step = (by: number, label: string, text: string) =>
      h("button", { type: "button", "aria-label": label, click: () => this.step(by) }, text);
    const close = h("button", { type: "button", "aria-label": "Close the moment", click: () => this.context.go({ at_ms: null }) }, "✕");
    this.filter.addEventListener("input", () => this.context.go({ filter: this.filter.value }, true));
    this.element.append(
      h("header", {}, this.title, h("div", { class: "tools" }, step(-1, "The sample before", "←"), step(1, "The next sample", "→"), close)),
      this.sums,
      this.tabs,
      this.content,
    );
  }

  /** Goes to the sample before or after this one. */
  step(by: number) {
    const { shown, host, go } = this.context;
    const at = this.data?.at_ms ?? shown.at_ms;
    if (at === null) return;
    if (report) {
      const times = momentTimes(host.host);
      const next = by > 0 ? times.find((one) => one > at) : times.findLast((one) => one < at);
      if (next !== undefined) go({ at_ms: next }, true);
      return;
    }
    const interval = Math.max(host.interval_ms, 1);
    // The first sample at or after a time is shown: back goes to just after the one before the last.
    go({ at_ms: Math.max(0, by > 0 ? at + 1 : (this.data?.before_ms ?? at - interval) - Math.floor(interval / 2)) }, true);
  }

  update(context: Context) {
    this.context = context;
    const { shown, host } = context;
    const at = shown.at_ms;
    this.element.hidden = at === null;
    if (at === null) {
      this.key = "";
      this.asked?.abort();
      return;
    }
    if (this.filter.value !== shown.filter) this.filter.value = shown.filter;
    const key = `${host.host} ${at}`;
    if (key !== this.key) {
      const isNew = this.key === "";
      this.key = key;
      this.load(host.host, at);
      if (isNew) this.title.focus();
    } else {
      this.draw();
    }
  }

  private load(host: string, at: number) {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    this.data = null;
    this.compared = null;
    this.title.textContent = dateAndClock(at, this.context.zone);
    this.element.setAttribute("aria-busy", "true");
    const work = async () => {
      this.data = await api.moment(host, at, asked.signal);
      this.draw();
      this.compared = await api.explain(host, at, DIFFERENCES, asked.signal);
      this.draw();
      this.context.fine();
    };
    work()
      .catch((error: unknown) => {
        if (isAbort(error)) return;
        this.content.replaceChildren(h("p", { class: "missing" }, error instanceof Error ? error.message : String(error)));
        if (error instanceof NotInReport) return this.offerNearest(host, at);
        this.context.fail(error, () => this.load(host, at));
      })
      .finally(() => {
        if (this.asked === asked) this.element.removeAttribute("aria-busy");
      });
  }

  /** A report has some moments: which one is the nearest. */
  private offerNearest(host: string, at: number) {
    this.sums.textContent = "";
    this.tabs.replaceChildren();
    const nearest = nearestMoment(host, at);
    if (nearest === null) return;
    this.content.append(h("button", { type: "button", click: () => this.context.go({ at_ms: nearest }) }, `Open the nearest one that is: ${clock(nearest, this.context.zone)}`));
  }

  private draw() {
    const { shown, zone, go, host } = this.context;
    const { data } = this;
    if (!data) return;
    this.title.textContent = `${dateAndClock(data.at_ms, zone)} ${zone.name}`;
    const read = data.processes_read ?? data;
    const since = read.before_ms === null ? "" : `, from ${clock(read.before_ms, zone)} to ${clock(read.at_ms, zone)}`;
    const busy = data.processes_read?.busy_percent ?? null;
    const machine = busy === null ? "" : `, of ${formatted(busy, "percent")} that the machine used`;
    const ended = data.processes.filter((one) => one.ended).length;
    const cpu = sum(data.processes.map((one) => one.cpu_percent));
    this.sums.textContent = `${data.processes.length} processes, ${ended} of them ended; together ${formatted(cpu, "percent")} of a CPU${machine}${since}`;
    const tabs: [string, string][] = [["processes", "Processes"], ["difference", "What differs"], ...(this.context.sections.includes("logs") ? [["logs", "Log records"] as [string, string]] : []), ...data.tables.map((table): [string, string] => [table.name, table.title])];
    const tools: HTMLElement[] = [choice("show", tabs, shown.tab, (tab) => go({ tab, sort: "" }))];
    if (shown.tab === "processes") {
      const by: [Grouping, string][] = [["list", "list"], ["tree", "tree"], ["command", "by command"], ["user", "by user"], ["cgroup", "by control group"]];
      tools.push(choice("as", by, shown.by, (value) => go({ by: value as Grouping, sort: "" })));
    }
    const isLogs = shown.tab === "logs" && this.context.sections.includes("logs");
    if (isLogs) tools.push(...this.around.tools(this.context));
    const table = shown.tab === "difference" ? null : shown.tab;
    const address = (format?: "csv") =>
      isLogs
        ? this.around.address(this.context, shown.at_ms ?? data.at_ms, format)
        : api.addressOf(table === null ? "explain" : "moment", { host: host.host, at: shown.at_ms, table, format });
    const focused = document.activeElement === this.filter;
    this.tabs.replaceChildren(...tools, this.filter, ...(report ? [] : savingLinks("moment", address)));
    if (focused) this.filter.focus();
    const scrolled = this.content.querySelector(".scroll")?.scrollLeft ?? 0;
    if (isLogs) this.around.update(this.context, shown.at_ms ?? data.at_ms);
    this.content.replaceChildren(isLogs ? this.around.element : this.table(data));
    const scroll = this.content.querySelector(".scroll");
    if (scroll) scroll.scrollLeft = scrolled;
  }

  private table(data: Moment): HTMLElement {
    const { shown, go } = this.context;
    const common = { filter: shown.filter, sorted: (sort: string) => go({ sort }, true) };
    if (shown.tab === "difference") {
      if (!this.compared) return h("p", {}, "Comparing with the time before …");
      return differences(this.compared, "the time before", { ...common, sort: shown.sort });
    }
    const table = data.tables.find((one) => one.name === shown.tab);
    if (table) return tableOf({ caption: table.title, columns: columnsOf(table), rows: table.rows, sort: shown.sort, ...common });
    if (shown.tab !== "processes") return h("p", { class: "missing" }, `This moment has no table “${shown.tab}”: choose another one.`);
    const sort = shown.sort || "-cpu";
    const kind = (process: Process) => (process.ended ? "ended" : null);
    const isNetworkThere = hasNetwork(data.processes);
    if (shown.by === "list") {
      return tableOf({ caption: "Processes", columns: columns<Process>((one) => one, () => 0, data.at_ms, isNetworkThere), rows: data.processes, sort, kind, ...common });
    }
    if (shown.by === "tree") {
      return tableOf({ caption: "Processes as a tree", columns: columns<Branch>((one) => one.process, (one) => one.depth, data.at_ms, isNetworkThere), rows: tree(data.processes), sort, fixed: shown.sort === "", kind: (one) => kind(one.process), ...common });
    }
    const name = { command: "Command", user: "User", cgroup: "Control group" }[shown.by];
    return tableOf({ caption: `Processes by ${name.toLowerCase()}`, columns: GROUP_COLUMNS(name, isNetworkThere), rows: grouped(data.processes, shown.by), sort, ...common });
  }
}

/** The columns of a table of the machine: its units say which are numbers. */
function columnsOf(table: Table): Column<Cell[]>[] {
  return table.columns.map(({ id, label, unit }, index) => {
    const value = (row: Cell[]) => row[index] ?? null;
    const isText = unit === null && table.rows.some((row) => typeof row[index] === "string");
    return { id, label, unit: isText ? null : (unit ?? "count"), value };
  });
}
