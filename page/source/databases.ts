// Round-robin databases: a list that is searched, and one of them as curves, as a picture and as tables.

import { addressOf, question, type ChartData, type ChartInfo, type DatabaseFacts, type DatabaseLine, type DatabaseList, type Parameter } from "./api";
import { Chart } from "./chart";
import { theme } from "./colour";
import { askedOf, type Context } from "./context";
import { filterField, h, isAbort } from "./dom";
import { duration, formatted } from "./format";
import { tableOf, type Column } from "./table";
import { dateAndClock } from "./time";

/** Databases of the list at once. */
const COUNT = 200;

export class DatabasesView {
  readonly element = h("div", { class: "databases" });
  private readonly bar = h("div", { class: "tools" });
  private readonly one = h("section", { class: "card", hidden: true, "aria-label": "Database" });
  private readonly list = h("div", { class: "card" });
  private chart: Chart | null = null;
  private chartKey = "";
  private facts: DatabaseFacts | null = null;
  private data: ChartData | null = null;
  private found: DatabaseList | null = null;
  private asked: AbortController | null = null;
  private askedList: AbortController | null = null;
  private key = "";
  private listKey: string | null = null;

  constructor(private context: Context) {
    const filter = filterField("Search databases", context.shown.filter, (text) => this.context.go({ filter: text }, true));
    this.bar.append(filter);
    this.element.append(this.bar, this.one, this.list);
  }

  update(context: Context) {
    this.context = context;
    const { shown, period, zone } = context;
    if (shown.filter !== this.listKey) {
      this.listKey = shown.filter;
      this.loadList();
    } else {
      this.drawList();
    }
    const key = JSON.stringify([shown.database, shown.folder, shown.sources, period, zone.name, theme()]);
    if (key !== this.key) {
      this.key = key;
      this.load();
    }
  }

  private loadList() {
    this.askedList?.abort();
    const asked = new AbortController();
    this.askedList = asked;
    const address = addressOf("databases", { of: askedOf(this.context), filter: this.context.shown.filter || null, count: COUNT });
    question<DatabaseList>(address, asked.signal)
      .then((found) => {
        this.found = found;
        this.drawList();
        this.context.fine();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.loadList());
      });
  }

  private drawList() {
    if (!this.found) return;
    const { shown, go, zone } = this.context;
    const open = (row: DatabaseLine) => {
      const pressed = row.path === shown.database && (shown.folder ?? row.folder) === row.folder;
      return h("button", { type: "button", "aria-pressed": pressed ? "true" : "false", click: () => go({ database: row.path, folder: row.folder, sources: [] }) }, row.path);
    };
    const columns: Column<DatabaseLine>[] = [
      { id: "path", label: "Database", unit: null, value: (row) => row.path, shown: open },
      { id: "sources", label: "Data sources", unit: null, value: (row) => row.sources.join(" ") },
      { id: "step_s", label: "Step", unit: "seconds", value: (row) => row.step_s },
      { id: "updated_ms", label: "Last update", unit: null, value: (row) => row.updated_ms, shown: (row) => (row.updated_ms === null ? "" : dateAndClock(row.updated_ms, zone)) },
      { id: "bytes", label: "Size", unit: "bytes", value: (row) => row.bytes },
      { id: "error", label: "Error", unit: null, value: (row) => row.error },
    ];
    const { databases, found, total, complaints } = this.found;
    const said = databases.length < found ? `The first ${databases.length} of ${found} databases: search for others.` : "";
    const sorted = (sort: string) => go({ sort }, true);
    this.list.replaceChildren(
      tableOf({ caption: "Databases", columns, rows: databases, sort: shown.sort, filter: "", sorted }),
      h("p", { class: "foot" }, `${found} of ${total} databases. ${said}`),
      ...complaints.map((complaint) => h("p", { class: "missing" }, complaint)),
    );
  }

  private addressOf(kind: string, more: Record<string, Parameter>): string {
    const { shown, period } = this.context;
    return addressOf(`databases/${kind}`, { of: askedOf(this.context), path: shown.database, folder: shown.folder, source: shown.sources, from: period.from_ms, thru: period.thru_ms, ...more });
  }

  private points(): number {
    return Chart.points(this.element.clientWidth);
  }

  /** Asks for the database that is open. */
  private load() {
    this.asked?.abort();
    const { shown } = this.context;
    this.one.hidden = shown.database === null;
    if (shown.database === null) return;
    const asked = new AbortController();
    this.asked = asked;
    const facts = addressOf("databases/file", { of: askedOf(this.context), path: shown.database, folder: shown.folder });
    Promise.all([question<DatabaseFacts>(facts, asked.signal), question<ChartData>(this.addressOf("data", { points: this.points() }), asked.signal)])
      .then(([facts, data]) => {
        [this.facts, this.data] = [facts, { ...data, id: "database", unit: "count" }];
        this.drawOne();
        this.context.fine();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.load());
      });
  }

  private drawOne() {
    const { facts, data } = this;
    if (!facts || !data) return;
    const { shown, period, zone, go, move } = this.context;
    const key = JSON.stringify([facts.folder, facts.path]);
    if (!this.chart || key !== this.chartKey) {
      this.chart?.end();
      this.chartKey = key;
      const info: ChartInfo = { id: "database", title: facts.path, unit: "count", kind: "line", group: "", instances: [], series: data.series };
      this.chart = new Chart(
        info,
        {
          zoom: (from_ms, thru_ms) => go({ from_ms, thru_ms }),
          open: (at_ms) => go({ at_ms: Math.round(at_ms) }),
          move,
          instance: () => undefined,
          file: (format) => this.addressOf("data", { points: this.points(), format }),
        },
        "",
      );
    }
    this.one.replaceChildren(this.toggles(facts), this.chart.element, this.picture(facts), this.kept(facts));
    this.chart.show({ data, ...period, at_ms: shown.at_ms, zone, instance: "" });
  }

  /** Which data sources are shown. */
  private toggles(facts: DatabaseFacts): HTMLElement {
    const { shown, go } = this.context;
    const names = facts.sources.map((one) => one.name);
    const buttons = names.map((name) => {
      const isOn = shown.sources.length === 0 || shown.sources.includes(name);
      const other = names.filter((one) => (one === name ? !isOn : shown.sources.length === 0 || shown.sources.includes(one)));
      const chosen = () => go({ sources: other.length === names.length ? [] : other }, true);
      return h("button", { type: "button", "aria-pressed": isOn ? "true" : "false", disabled: other.length === 0, click: chosen }, name);
    });
    const close = h("button", { type: "button", click: () => go({ database: null, folder: null, sources: [] }) }, "Close");
    return h("div", { class: "tools" }, h("span", { class: "choice" }, "Data sources"), ...buttons, close);
  }

  /** The picture of the database's own definition, or of its data sources. */
  private picture(facts: DatabaseFacts): HTMLElement {
    const { zone } = this.context;
    // Axes and legend have their own room in a picture.
    const width = Math.round(Math.min(Math.max(this.element.clientWidth - 130, 260), 1400));
    const address = (format: string, theme?: string) => this.addressOf("graph", { format, width, zone: zone.name, theme });
    const text = facts.has_definition ? `Picture of ${facts.path} by its definition` : `Picture of ${facts.path}`;
    const image = h("img", { src: address("svg", theme()), alt: text, loading: "lazy" });
    const file = facts.path.replace(/^.*\//, "").replace(/\.rrd$/, "");
    const links = ["svg", "png"].map((format) => h("a", { href: address(format), download: `${file}.${format}` }, format.toUpperCase()));
    const caption = h("figcaption", { class: "tools" }, facts.has_definition ? "Picture by its definition. Save: " : "Picture. Save: ", ...links);
    return h("figure", { class: "picture" }, image, caption);
  }

  /** What the database keeps. */
  private kept(facts: DatabaseFacts): HTMLElement {
    const { zone } = this.context;
    const limit = (value: number | null) => (value === null ? "none" : formatted(value, "count"));
    const sources = facts.sources.map((one) => h("li", {}, `${one.name}: ${one.kind}, from ${limit(one.min)} to ${limit(one.max)}, unknown after ${duration(one.heartbeat_s * 1000)} without a value`));
    const archives = facts.archives.map((one) => h("li", {}, `${one.function}: ${one.rows} rows of ${duration(one.step_s * 1000)}, from ${dateAndClock(one.from_ms, zone)} to ${dateAndClock(one.thru_ms, zone)}`));
    const said = `${formatted(facts.bytes, "bytes")}, a step of ${duration(facts.step_s * 1000)}, last update ${dateAndClock(facts.updated_ms, zone)}`;
    return h("details", { class: "values" }, h("summary", {}, "What it keeps"), h("p", {}, said), h("ul", {}, ...sources, ...archives));
  }

  end() {
    this.asked?.abort();
    this.askedList?.abort();
    this.chart?.end();
  }
}
