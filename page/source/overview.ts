// All charts of a host over one period, and its heaviest processes; live when the page follows the newest sample.

import { OWNERS, RESOURCES, type Owner, type Resource } from "./address";
import * as api from "./api";
import type { ChartData, ChartInfo, LiveSample, Period } from "./api";
import { Chart } from "./chart";
import { addressOfChart, openHighest, type Context } from "./context";
import { choice, h, isAbort } from "./dom";
import { formatted } from "./format";
import { report } from "./report";
import { savingLinks } from "./saving";
import { append, type Counts } from "./series";

/** Charts that are asked for by themselves, so that the first curve is there at once. */
const FIRST = 1;
const HEAVIEST = 10;
/** Samples that came live and may be missing in an answer that was asked for before. */
const RECENT = 60;

interface Slot {
  info: ChartInfo;
  chart: Chart;
  data: ChartData | null;
  counts: Counts;
}

export class Overview {
  readonly element = h("div", { class: "overview grid" });
  private slots: Slot[] = [];
  private readonly heaviest = h("section", { class: "card heaviest", "aria-labelledby": "heaviest" });
  private readonly now = h("div", { class: "now" });
  private asked: AbortController | null = null;
  private key = "";
  private recent: LiveSample[] = [];

  constructor(private context: Context) {
    this.build();
  }

  /** A host whose recordings have no charts: what there is instead. */
  private buildOther() {
    const { host, sections, go } = this.context;
    const parts: (Node | string)[] = [`No chart of this page shows what is recorded of ${host.host}.`];
    if (sections.includes("devices") && host.sources.includes("target")) {
      parts.push(" It is a device that is polled: ", h("button", { type: "button", click: () => go({ view: "devices", filter: host.host }) }, "show its targets"), ".");
    } else {
      const newest = h("button", { type: "button", click: () => go({ at_ms: host.thru_ms }) }, "Show the newest sample");
      parts.push(` Recorded are: ${host.sources.join(", ") || "nothing"}. `, newest);
    }
    this.element.append(h("p", { class: "missing" }, ...parts));
  }

  private build() {
    if (this.context.infos.length === 0) this.buildOther();
    for (const info of this.context.infos) {
      const slot: Slot = { info, chart: this.chart(info), data: null, counts: new Map() };
      this.slots.push(slot);
      this.element.append(slot.chart.element);
      // Who it was stands beside the first chart.
      if (this.slots.length === 1) this.element.append(this.heaviest);
    }
  }

  private chart(info: ChartInfo): Chart {
    return new Chart(
      info,
      {
        zoom: (from_ms, thru_ms) => this.context.go({ from_ms, thru_ms }),
        open: (at_ms, step_ms) => void openHighest(this.context, info, at_ms, step_ms),
        move: (factor, about_ms, share) => this.context.move(factor, about_ms, share),
        instance: (name) => this.context.go({ instances: { ...this.context.shown.instances, [info.id]: name } }),
        file: (format) => addressOfChart(this.context, info, this.points(), format),
      },
      this.context.shown.instances[info.id] ?? "",
    );
  }

  private points(): number {
    return Chart.points(this.slots[0]?.chart.element.clientWidth ?? 600);
  }

  /** Shows what the context says; asks the server only for what is not there yet. */
  update(context: Context) {
    this.context = context;
    const { shown, period, host } = context;
    const followed = shown.from_ms === null;
    const key = JSON.stringify([host.host, followed ? ["last", shown.last_ms] : period, shown.instances, shown.what, shown.per]);
    for (const slot of this.slots) {
      if (slot.data) this.draw(slot);
    }
    if (key !== this.key) {
      this.key = key;
      this.reload();
    }
    this.now.hidden = !followed || !host.is_live;
  }

  /** Asks for all data again: what came live meanwhile may have been missed. */
  reload() {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const { host, period, shown } = this.context;
    const points = this.points();
    const whole = this.slots.filter((slot) => !shown.instances[slot.info.id]);
    const parts = [whole.slice(0, FIRST), whole.slice(FIRST)].filter((part) => part.length > 0);
    const work = async () => {
      const take = async (part: Slot[]) => {
        const found = await api.chartsData(host.host, part.map((slot) => slot.info.id), period, points, asked.signal);
        for (const data of found) this.take(data, period.thru_ms);
      };
      await Promise.all(parts.map(take));
      for (const slot of this.slots) {
        const instance = shown.instances[slot.info.id];
        if (instance) {
          this.take(await api.chart({ host: host.host, id: slot.info.id, ...period, points, instance }, asked.signal), period.thru_ms);
        }
      }
      await this.loadHeaviest(period, asked.signal);
      this.element.dataset["loaded"] = this.key;
      this.context.fine();
    };
    this.element.setAttribute("aria-busy", "true");
    work()
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.reload());
      })
      .finally(() => {
        if (this.asked === asked) this.element.removeAttribute("aria-busy");
      });
  }

  /** Takes an answer, which ends before `thru_ms`; what came live since goes on from there. */
  private take(data: ChartData, thru_ms: number) {
    const slot = this.slots.find((one) => one.info.id === data.id);
    if (!slot) return;
    slot.data = data;
    slot.counts = new Map();
    if (this.context.shown.from_ms === null) {
      for (const sample of this.recent) if (sample.at_ms >= thru_ms) this.add(slot, data, sample);
    }
    this.draw(slot);
  }

  private draw(slot: Slot) {
    const { period, shown, zone } = this.context;
    if (!slot.data) return;
    slot.chart.show({ data: slot.data, ...period, at_ms: shown.at_ms, zone, instance: shown.instances[slot.info.id] ?? "" });
  }

  /** A new sample: the data of every chart goes on by it. */
  live(context: Context, sample: LiveSample) {
    this.context = context;
    for (const slot of this.slots) {
      if (slot.data) this.add(slot, slot.data, sample);
    }
    this.recent.push(sample);
    if (this.recent.length > RECENT) this.recent.shift();
  }

  private add({ info, counts }: Slot, data: ChartData, sample: LiveSample) {
    append(data, counts, sample.at_ms, this.context.period.from_ms, (series) => {
      const place = series.instance ? `${info.id}/${series.instance}` : info.id;
      return sample.charts[place]?.[series.id] ?? null;
    });
  }

  /** Shows the samples that have come. */
  drawLive(context: Context) {
    this.context = context;
    for (const slot of this.slots) this.draw(slot);
    const newest = this.recent.at(-1);
    if (newest) this.showNow(newest);
  }

  private showNow(sample: LiveSample) {
    const rows = sample.heaviest.slice(0, HEAVIEST).map((one) =>
      h(
        "tr",
        {},
        h("td", { class: "text" }, one.command),
        h("td", { class: "number plain" }, String(one.pid)),
        h("td", { class: "number" }, formatted(one.cpu_percent, "percent")),
        h("td", { class: "number" }, formatted(one.rss_bytes, "bytes")),
      ),
    );
    const heads = ["Command", "Process", "CPU", "Memory"].map((name, k) => h("th", { scope: "col", class: k === 0 ? "text" : "number" }, name));
    this.now.replaceChildren(
      h("table", {}, h("caption", {}, "Now"), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)),
    );
  }

  private async loadHeaviest(period: Period, signal: AbortSignal) {
    const { host, shown, go } = this.context;
    const { what, per } = shown;
    if (!host.sources.some((name) => name === "process" || name === "exit")) {
      const why = "No processes are recorded of this host (whit record -s +Z records them).";
      this.heaviest.replaceChildren(h("h2", { id: "heaviest" }, "Heaviest processes"), h("p", {}, why));
      return;
    }
    const found = await api.heaviest(host.host, period, what, per, HEAVIEST, signal);
    const rows = found.rows.map((row) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${Math.min(Math.max((row.share ?? 0) * 100, 0), 100)}%`;
      const ended = row.ended ? ` (${row.ended} ended)` : "";
      return h(
        "tr",
        {},
        h("td", { class: "text" }, bar, row.name),
        h("td", { class: "number" }, formatted(row.value, found.unit)),
        h("td", { class: "number plain" }, row.processes === null ? "" : `${row.processes}${ended}`),
      );
    });
    const address = (format?: "csv") => api.heaviestAddress(host.host, period, what, per, 1000, format);
    const named: Record<Resource, string> = { cpu: "CPU", memory: "memory", read: "reads", write: "writes" };
    this.heaviest.replaceChildren(
      h("h2", { id: "heaviest" }, "Heaviest processes"),
      h(
        "div",
        { class: "tools" },
        choice("by", RESOURCES.map((one) => [one, named[one]]), what, (value) => go({ what: value as Resource })),
        choice("per", OWNERS.map((one) => [one, one]), per, (value) => go({ per: value as Owner })),
        ...savingLinks("heaviest", address),
      ),
      rows.length === 0
        ? h("p", {}, "No process is recorded in this period.")
        : h("table", {}, h("caption", {}, report ? "In the whole report: those of shorter periods are not in it" : "In the whole period"), h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, per), h("th", { scope: "col", class: "number" }, named[what]), h("th", { scope: "col", class: "number" }, "processes"))), h("tbody", {}, ...rows)),
      this.now,
    );
  }

  end() {
    this.asked?.abort();
    for (const slot of this.slots) slot.chart.end();
  }
}
