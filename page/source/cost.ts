// What whit itself costs, by part: how each part is and what it uses now, and curves of what they used.

import { addressOf, question, ServerError, type ChartData } from "./api";
import { Chart } from "./chart";
import { askedOf, type Context } from "./context";
import { h, isAbort } from "./dom";
import { formatted } from "./format";
import { partsAddress, type Part, type Parts } from "./parts";
import { tableOf, type Column } from "./table";
import { dateAndClock } from "./time";

/** How often a page that follows asks again. */
const AGAIN_MS = 10_000;

interface Curves {
  host: string;
  charts: (ChartData & { title: string })[];
}

export class CostView {
  readonly element = h("div", { class: "devices cost" });
  private readonly list = h("div", { class: "card" });
  private readonly missing = h("p", { class: "missing", hidden: true });
  private readonly grid = h("div", { class: "grid" });
  private readonly charts = new Map<string, Chart>();
  private parts: Parts | null = null;
  private asked: AbortController | null = null;
  private key = "";
  private shapes = "";
  private readonly timer: number;

  constructor(private context: Context) {
    this.element.append(this.list, this.missing, this.grid);
    this.timer = window.setInterval(() => {
      if (this.context.shown.from_ms === null && !document.hidden) this.load();
    }, AGAIN_MS);
  }

  update(context: Context) {
    this.context = context;
    const { period, shown, zone } = context;
    const follows = shown.from_ms === null;
    const key = JSON.stringify([follows ? shown.last_ms : period, zone.name]);
    if (key !== this.key) {
      this.key = key;
      this.load();
    } else {
      this.draw();
    }
  }

  /** The page follows: what is asked for next ends with this sample. */
  live(context: Context) {
    this.context = context;
  }

  private points(): number {
    return Chart.points(this.grid.firstElementChild?.clientWidth ?? 600);
  }

  private curvesAddress(points: number, what?: string, format?: "csv"): string {
    const { from_ms, thru_ms } = this.context.period;
    return addressOf("parts/curves", { of: askedOf(this.context), from: from_ms, thru: thru_ms, points, what, format });
  }

  private load() {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const work = async () => {
      this.parts = await question<Parts>(partsAddress(askedOf(this.context)), asked.signal);
      this.draw();
      try {
        const { charts } = await question<Curves>(this.curvesAddress(this.points()), asked.signal);
        this.missing.hidden = true;
        this.drawCurves(charts);
      } catch (error) {
        // Processes may not be recorded: the table is there all the same.
        if (!(error instanceof ServerError)) throw error;
        this.missing.textContent = error.message;
        this.missing.hidden = false;
      }
      this.context.fine();
    };
    work().catch((error: unknown) => {
      if (!isAbort(error)) this.context.fail(error, () => this.load());
    });
  }

  private drawCurves(all: Curves["charts"]) {
    const { shown, period, zone, go, move } = this.context;
    const shapes = JSON.stringify(all.map(({ id, series }) => [id, series.map((one) => one.id)]));
    if (shapes !== this.shapes) {
      this.shapes = shapes;
      for (const chart of this.charts.values()) chart.end();
      this.charts.clear();
      for (const { id, title, unit, series } of all) {
        const info = { id: `cost-${id}`, title, unit, kind: "line" as const, group: "", instances: [], series: series.map((one) => ({ id: one.id, label: one.label })) };
        const chart = new Chart(
          info,
          {
            zoom: (from_ms, thru_ms) => go({ from_ms, thru_ms }),
            open: (at_ms) => go({ at_ms: Math.round(at_ms) }),
            move,
            instance: () => undefined,
            file: (format) => this.curvesAddress(this.points(), id, format),
          },
          "",
        );
        this.charts.set(id, chart);
      }
      this.grid.replaceChildren(...[...this.charts.values()].map((chart) => chart.element));
    }
    for (const data of all) this.charts.get(data.id)?.show({ data, ...period, at_ms: shown.at_ms, zone, instance: "" });
  }

  private draw() {
    const { shown, go, zone } = this.context;
    if (this.parts === null) return;
    const time = (time_ms: number | null) => (time_ms === null ? "" : dateAndClock(time_ms, zone));
    const number = (id: keyof Part, label: string, unit: string): Column<Part> => ({ id, label, unit, value: (part) => part[id] ?? null });
    const state = (part: Part) => {
      if (part.state === "pauses") return `failed, starts again at ${time(part.next_ms)}`;
      if (typeof part.unwritten_since_ms === "number") return `cannot write since ${time(part.unwritten_since_ms)}: ${part.unwritten}`;
      return part.state === "waits" ? `waits: ${part.why}` : `runs${part.failing_since_ms === null ? "" : " again"}`;
    };
    const columns: Column<Part>[] = [
      { id: "name", label: "Part", unit: null, value: (part) => part.name },
      { id: "state", label: "State", unit: null, value: state },
      { id: "since_ms", label: "Since", unit: null, value: (part) => part.since_ms, shown: (part) => time(part.since_ms) },
      { id: "pid", label: "Process", unit: "count", value: (part) => part.pid, shown: (part) => (part.pid === null ? "–" : String(part.pid)) },
      number("cpu_percent", "CPU since its start", "percent"),
      { ...number("cpu_seconds", "CPU time", "seconds"), shown: (part) => formatted(part.cpu_seconds, "seconds") },
      number("rss_bytes", "Memory", "bytes"),
      number("threads", "Threads", "count"),
      number("written_bytes", "Written", "bytes"),
      number("written_bytes_s", "Written a second", "bytes/s"),
      number("failed", "Failures", "count"),
      {
        id: "last_error",
        label: "Last failure",
        unit: null,
        value: (part) => part.last_error,
        shown: (part) => (part.last_error === null ? "–" : `${time(part.last_error_ms)}: ${part.last_error}`),
      },
    ];
    const sorted = (sort: string) => go({ sort }, true);
    const about = `Configuration: ${this.parts.configuration ?? "none, the defaults"}. Data: ${this.parts.folder ?? ""}.`;
    const refused = this.parts.streams_refused ?? 0;
    const streams = refused === 0 ? "" : ` Pages that were refused to follow live, because as many as are served did already: ${refused}.`;
    this.list.replaceChildren(
      tableOf({ caption: "Parts of whit on this machine", columns, rows: this.parts.parts, sort: shown.sort, filter: "", sorted, kind: (part) => (part.failing_since_ms === null && typeof part.unwritten_since_ms !== "number" ? null : "lost") }),
      h("p", { class: "foot" }, about, streams),
    );
  }

  end() {
    clearInterval(this.timer);
    this.asked?.abort();
    for (const chart of this.charts.values()) chart.end();
  }
}
