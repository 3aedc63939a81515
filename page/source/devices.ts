// The devices that are polled: every target with what goes in and out, and the curves of one.

import { addressOf, question, type ChartData, type ChartInfo, type DeviceTarget } from "./api";
import { Chart } from "./chart";
import { askedOf, type Context } from "./context";
import { filterField, h, isAbort } from "./dom";
import { formatted } from "./format";
import { tableOf, type Column } from "./table";
import { dateAndClock } from "./time";

/** How often a page that follows asks again. */
const AGAIN_MS = 15_000;

export class DevicesView {
  readonly element = h("div", { class: "devices" });
  private readonly bar = h("div", { class: "tools" });
  private readonly chartPlace = h("div", {});
  private readonly list = h("div", { class: "card" });
  private chart: Chart | null = null;
  private chartKey = "";
  private targets: DeviceTarget[] | null = null;
  private hasIndex = false;
  private asked: AbortController | null = null;
  private key = "";
  private timer = 0;

  constructor(private context: Context) {
    const filter = filterField("Search devices and targets", context.shown.filter, (text) => this.context.go({ filter: text }, true));
    this.bar.append(filter);
    this.element.append(this.bar, this.chartPlace, this.list);
    this.timer = window.setInterval(() => {
      if (this.context.shown.from_ms === null && !document.hidden) this.load();
    }, AGAIN_MS);
  }

  update(context: Context) {
    this.context = context;
    const { period, shown, zone } = context;
    const key = JSON.stringify([period, shown.device, shown.target, zone.name]);
    if (key !== this.key) {
      this.key = key;
      this.load();
    } else {
      this.draw();
    }
  }

  private addressOfTarget(points: number | null, format?: "csv"): string {
    const { period, shown } = this.context;
    return addressOf("devices/target", { of: askedOf(this.context), host: shown.device, target: shown.target, from: period.from_ms, thru: period.thru_ms, points, format });
  }

  /** Where MRTG's pages are: those of another host are asked of it. */
  private pages(): string {
    const of = askedOf(this.context);
    return of === null ? "mrtg/" : `mrtg-of/${encodeURIComponent(of)}/`;
  }

  private load() {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const { period, shown } = this.context;
    const work = async () => {
      const address = addressOf("devices", { of: askedOf(this.context), from: period.from_ms, thru: period.thru_ms });
      const found = await question<{ targets: DeviceTarget[]; index: string | null }>(address, asked.signal);
      this.targets = found.targets;
      this.hasIndex = found.index !== null;
      this.draw();
      if (shown.device !== null && shown.target !== null) {
        const points = Chart.points(this.element.clientWidth);
        this.showChart(await question<ChartData>(this.addressOfTarget(points), asked.signal));
      }
      this.context.fine();
    };
    work().catch((error: unknown) => {
      if (!isAbort(error)) this.context.fail(error, () => this.load());
    });
  }

  private showChart(data: ChartData) {
    const { shown, period, zone, go, move } = this.context;
    const title = `${shown.device} ${shown.target}`;
    if (!this.chart || this.chartKey !== title) {
      this.chart?.end();
      this.chartKey = title;
      const series = data.series.map(({ id, label }) => ({ id, label }));
      const info: ChartInfo = { id: "target", title, unit: data.unit, kind: "line", group: "", instances: [], series };
      const points = () => Chart.points(this.element.clientWidth);
      this.chart = new Chart(
        info,
        {
          zoom: (from_ms, thru_ms) => go({ from_ms, thru_ms }),
          open: (at_ms) => go({ at_ms: Math.round(at_ms) }),
          move,
          instance: () => undefined,
          file: (format) => this.addressOfTarget(points(), format),
        },
        "",
      );
      this.chartPlace.replaceChildren(this.chart.element);
    }
    this.chart.show({ data, ...period, at_ms: shown.at_ms, zone, instance: "" });
  }

  private draw() {
    const { shown, go, zone } = this.context;
    if (shown.target === null) {
      this.chart?.end();
      this.chart = null;
      this.chartPlace.replaceChildren();
    }
    if (this.targets === null) return;
    if (this.targets.length === 0) {
      this.list.replaceChildren(h("p", { class: "missing" }, "No device was polled in this period.", ...this.link()));
      return;
    }
    const open = (row: DeviceTarget) =>
      h("button", { type: "button", "aria-pressed": row.device === shown.device && row.target === shown.target ? "true" : "false", click: () => go({ device: row.device, target: row.target }) }, row.target);
    const value = (id: keyof DeviceTarget, label: string): Column<DeviceTarget> => ({
      id,
      label,
      unit: "count",
      value: (row) => row[id],
      shown: (row) => formatted(row[id] as number | null, row.unit),
    });
    const columns: Column<DeviceTarget>[] = [
      { id: "device", label: "Device", unit: null, value: (row) => row.device },
      { id: "target", label: "Target", unit: null, value: (row) => row.target, shown: open },
      ...this.known([
        { id: "title", label: "Title", unit: null, value: (row) => row.title },
        { id: "failure", label: "Why it was not read", unit: null, value: (row) => row.failure, shown: (row) => this.failure(row) },
      ]),
      value("in_last", "In, newest"),
      value("in_mean", "mean"),
      value("in_max", "max"),
      value("out_last", "Out, newest"),
      value("out_mean", "mean"),
      value("out_max", "max"),
      {
        id: "newest_ms",
        label: "Newest value",
        unit: null,
        value: (row) => row.newest_ms,
        shown: (row) => (row.newest_ms === null ? "none" : `${dateAndClock(row.newest_ms, zone)}${row.is_current ? "" : ": none since"}`),
      },
    ];
    columns.push(...this.known([value("in_limit", "Limit in"), value("out_limit", "out")]));
    if (this.targets.some((row) => row.page !== null)) {
      const page = (row: DeviceTarget) => (row.page === null ? "" : h("a", { href: `${this.pages()}${encodeURIComponent(row.page)}`, target: "_blank", "aria-label": `Page of ${row.target}` }, "page"));
      columns.push({ id: "page", label: "Page", unit: null, value: (row) => row.page, shown: page });
    }
    const sorted = (sort: string) => go({ sort }, true);
    const options = { caption: "Targets of devices", columns, rows: this.targets, sort: shown.sort, filter: shown.filter, sorted };
    const kind = (row: DeviceTarget) => (row.failing_since_ms !== null ? "lost" : row.is_current ? null : "ended");
    this.list.replaceChildren(tableOf({ ...options, kind }), h("p", { class: "foot" }, ...this.link()));
  }

  /** Columns of which any target has a value: a recording alone has none of them. */
  private known(columns: Column<DeviceTarget>[]): Column<DeviceTarget>[] {
    return columns.filter((column) => this.targets?.some((row) => column.value(row) !== null));
  }

  private failure(row: DeviceTarget): string | Node {
    if (row.failure === null) return "";
    const at = (time_ms: number | null) => (time_ms === null ? "" : dateAndClock(time_ms, this.context.zone));
    const since = row.failing_since_ms;
    const when = since === null ? `at ${at(row.failure_ms)}, and was read since` : `since ${at(since)}, last at ${at(row.failure_ms)}`;
    return h("span", { class: "reason" }, `${row.failure}: ${when}`);
  }

  private link(): (Node | string)[] {
    return !this.hasIndex ? [] : [" ", h("a", { href: this.pages(), target: "_blank" }, "Index of the pages of devices")];
  }

  end() {
    clearInterval(this.timer);
    this.asked?.abort();
    this.chart?.end();
  }
}
