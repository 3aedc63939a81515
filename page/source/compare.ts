// Two periods: the curves laid over each other, and what differs.

import * as api from "./api";
import type { Compared, Period } from "./api";
import { Chart } from "./chart";
import { addressOfChart, openHighest, type Context } from "./context";
import { differences } from "./differences";
import { choice, h, isAbort } from "./dom";
import { duration } from "./format";
import { NotInReport, report } from "./report";
import { savingLinks } from "./saving";
import { reached, totals } from "./series";
import { fieldOf, ofField, period as periodText } from "./time";

const DAY_MS = 86_400_000;
const ROWS = 200;
/** Parts of a pile that nobody uses. */
const NOT_USED = ["free", "idle", "iowait"];

/** The other period: as long, from its start, or just before this one. */
export function baseOf(period: Period, base_ms: number | null): Period {
  const length = period.thru_ms - period.from_ms;
  const from_ms = base_ms ?? period.from_ms - length;
  return { from_ms, thru_ms: from_ms + length };
}

export class CompareView {
  readonly element = h("div", { class: "compare" });
  private readonly bar = h("div", { class: "tools" });
  private readonly said = h("p", { class: "sums" });
  private readonly grid = h("div", { class: "grid" });
  private readonly table = h("div", { class: "card" });
  private charts: Chart[] = [];
  private asked: AbortController | null = null;
  private key = "";
  private found: Compared | null = null;

  constructor(private context: Context) {
    this.element.append(this.bar, this.said, this.table, this.grid);
    this.charts = context.infos.map((info) => {
      // Piles cannot be laid over each other: their sums are.
      const chart = new Chart(
        { ...info, kind: "line" },
        {
          zoom: (from_ms, thru_ms) => this.zoom(from_ms, thru_ms),
          open: (at_ms, step_ms) => void openHighest(this.context, info, at_ms, step_ms),
          move: (factor, about_ms, share) => this.context.move(factor, about_ms, share),
          instance: (name) => this.context.go({ instances: { ...this.context.shown.instances, [info.id]: name } }),
          file: (format) => addressOfChart(this.context, info, this.points(), format),
        },
        context.shown.instances[info.id] ?? "",
      );
      this.grid.append(chart.element);
      return chart;
    });
  }

  private points(): number {
    return Chart.points(this.charts[0]?.element.clientWidth ?? 600);
  }

  /** A part of this period goes with the same part of the other. */
  private zoom(from_ms: number, thru_ms: number) {
    const { period, shown } = this.context;
    const base = baseOf(period, shown.base_ms);
    this.context.go({ from_ms, thru_ms, base_ms: Math.round(base.from_ms + from_ms - period.from_ms) });
  }

  update(context: Context) {
    this.context = context;
    const { host, shown, period } = context;
    const base = baseOf(period, shown.base_ms);
    this.drawBar(base);
    const key = JSON.stringify([host.host, period, base, shown.instances, context.zone.name, shown.at_ms]);
    if (key !== this.key) {
      this.key = key;
      this.load(base);
    } else {
      this.drawTable();
    }
  }

  private drawBar(base: Period) {
    const { period, zone, go, host, shown } = this.context;
    const before = (back: number) => String(Math.round(period.from_ms - back));
    const length = period.thru_ms - period.from_ms;
    const options: [string, string][] = [["", "the period before"], [before(DAY_MS), "a day before"], [before(7 * DAY_MS), "a week before"]];
    const value = shown.base_ms === null ? "" : String(shown.base_ms);
    if (!options.some(([one]) => one === value)) options.push([value, "another time"]);
    const field = h("input", { type: "datetime-local", step: 1, value: fieldOf(base.from_ms, zone), "aria-label": "Start of the other period" });
    field.addEventListener("change", () => {
      const at = ofField(field.value, zone);
      if (at !== null) go({ base_ms: at, from_ms: period.from_ms, thru_ms: period.thru_ms });
    });
    const chosen = (text: string) => go(text === "" ? { base_ms: null } : { base_ms: Number(text), from_ms: period.from_ms, thru_ms: period.thru_ms });
    this.bar.replaceChildren(
      choice("compare with", options, value, chosen),
      h("label", { class: "choice" }, h("span", {}, "from"), field),
      ...(report ? [] : savingLinks("compare", (format) => api.compareAddress(host.host, period, base, ROWS, format))),
    );
    this.said.textContent = `Solid: ${periodText(period.from_ms, period.thru_ms, zone)}. Dashed: ${periodText(base.from_ms, base.thru_ms, zone)}, ${duration(period.from_ms - base.from_ms)} before. ${zone.name}, ${duration(length)} each.`;
  }

  private load(base: Period) {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const { host, period, shown, zone, infos } = this.context;
    const points = this.points();
    this.element.setAttribute("aria-busy", "true");
    const work = async () => {
      const data = async (one: Period) => {
        const whole = infos.filter((info) => !shown.instances[info.id]).map((info) => info.id);
        const found = whole.length === 0 ? [] : await api.chartsData(host.host, whole, one, points, asked.signal);
        for (const { id } of infos) {
          const instance = shown.instances[id];
          if (instance) found.push(await api.chart({ host: host.host, id, ...one, points, instance }, asked.signal));
        }
        return found;
      };
      // A report may lack the other period: this one is shown then.
      const unless = (error: unknown) => (error instanceof NotInReport ? [] : Promise.reject(error as Error));
      const [mine, other] = await Promise.all([data(period), data(base).catch(unless)]);
      for (const chart of this.charts) {
        const [one, two] = [mine, other].map((list) => list.find((that) => that.id === chart.info.id));
        const isStack = infos.find((info) => info.id === chart.info.id)?.kind === "stack";
        if (one && (two || report)) {
          const of = isStack ? added : (that: api.ChartData) => that;
          chart.show({ data: of(one), base: two ? of(two) : null, shift_ms: period.from_ms - base.from_ms, ...period, at_ms: shown.at_ms, zone, instance: "" });
        }
      }
      try {
        this.found = await api.compare(host.host, period, base, ROWS, asked.signal);
        this.drawTable();
      } catch (error) {
        if (!(error instanceof NotInReport)) throw error;
        this.table.replaceChildren(h("p", { class: "missing" }, error.message));
      }
      this.context.fine();
    };
    work()
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.load(base));
      })
      .finally(() => {
        if (this.asked === asked) this.element.removeAttribute("aria-busy");
      });
  }

  private drawTable() {
    if (!this.found) return;
    const { shown, go } = this.context;
    const sorted = (sort: string) => go({ sort }, true);
    this.table.replaceChildren(differences(this.found, "the other period", { sort: shown.sort, filter: shown.filter, sorted }));
  }

  end() {
    this.asked?.abort();
    for (const chart of this.charts) chart.end();
  }
}

/** The parts of a pile that are in use, as one series. */
export function added(data: api.ChartData): api.ChartData {
  const used = data.series.filter((one) => !NOT_USED.includes(one.id));
  const mean = totals(used);
  // What the sum has reached at least; how low it was is not known.
  return { ...data, series: [{ id: "used", label: "in use", mean, min: mean, max: reached(used) }] };
}
