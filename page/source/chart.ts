// One chart: uPlot's curves with our band from min to max, readings under the title, a table for those who
// do not see curves, and files.  All charts of the page share one cursor.

import uPlot from "uplot";
import type { ChartData, ChartInfo, Values } from "./api";
import { colours, styled, theme } from "./colour";
import { choice, download, h } from "./dom";
import { duration, formatted, MISSING } from "./format";
import { bounds, drawn, labelOf, lonely, middles, piled, reached, thinned } from "./series";
import { savingLinks } from "./saving";
import { svgOf } from "./svg";
import { axisLabels, dateAndClock, period as periodText, splits, type Zone } from "./time";

/** Taller on a wall. */
const height = () => (innerWidth >= 2400 ? 260 : 190);
const SYNC = "page";
/** Rows of the table under a chart. */
const TABLE_ROWS = 60;

/** What a chart asks of the page. */
export interface ChartActions {
  zoom: (from_ms: number, thru_ms: number) => void;
  /** Opens the moment of a step of this length. */
  open: (at_ms: number, step_ms: number) => void;
  /** A gesture that is zooming: by this factor about a time, moved by this share of the period. */
  move: (factor: number, about_ms: number, share: number) => void;
  instance: (name: string) => void;
  /** The address of what the chart shows, as a file. */
  file: (format?: "csv") => string;
}

/** What a chart shows. */
export interface ChartContent {
  data: ChartData;
  from_ms: number;
  thru_ms: number;
  at_ms: number | null;
  zone: Zone;
  instance: string;
  /** The same chart of another period, moved to this one. */
  base?: ChartData | null;
  /** By how much the other period is moved. */
  shift_ms?: number;
}

function text(parent: HTMLElement, content: string) {
  if (parent.textContent !== content) parent.textContent = content;
}

export class Chart {
  readonly element: HTMLElement;
  private readonly plot = h("div", { class: "plot", tabindex: 0, role: "application" });
  private readonly readings = h("ul", { class: "readings" });
  private readonly when = h("span", { class: "when" });
  private readonly table = h("details", { class: "values" }, h("summary", {}, "Table"));
  private uplot: uPlot | null = null;
  private content: ChartContent | null = null;
  private shape = "";
  private size: ResizeObserver;
  private values: HTMLElement[] = [];

  constructor(
    readonly info: ChartInfo,
    private readonly actions: ChartActions,
    instance: string,
  ) {
    const heading = h("h2", {}, info.title);
    const tools = h("div", { class: "tools" });
    if (info.instances.length > 1) {
      const options: [string, string][] = [["", "all"], ...info.instances.map((one): [string, string] => [one, one])];
      tools.append(choice("of", options, instance, (value) => actions.instance(value)));
    }
    tools.append(this.saving());
    this.element = h(
      "figure",
      { class: "chart", id: `chart-${info.id}` },
      h("figcaption", {}, heading, this.when, tools),
      this.readings,
      this.plot,
      this.table,
    );
    this.table.addEventListener("toggle", () => this.showTable());
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.gestures();
    this.size = new ResizeObserver(() => {
      if (this.uplot && this.plot.clientWidth > 0) {
        this.uplot.setSize({ width: this.plot.clientWidth, height: height() });
      }
    });
    this.size.observe(this.plot);
  }

  /** How many steps are worth asking for: one for each pixel. */
  static points(width: number): number {
    return Math.round(Math.min(Math.max(width, 150), 2000));
  }

  show(content: ChartContent) {
    this.content = content;
    const series = drawn(content.data);
    const shape = [
      content.zone.name,
      theme(),
      content.base ? "base" : "",
      ...series.map((one) => `${one.id} ${labelOf(one)}`),
    ].join("\n");
    if (shape !== this.shape || !this.uplot) {
      this.shape = shape;
      this.build();
    } else {
      this.uplot.setData(this.columns(), false);
      this.uplot.redraw(true, true);
      const { from_ms: min, thru_ms: max } = content;
      this.uplot.setScale("x", { min, max });
    }
    this.read();
    this.describe();
    if (this.table.open) this.showTable();
  }

  mark(at_ms: number | null) {
    if (!this.content || this.content.at_ms === at_ms) return;
    this.content.at_ms = at_ms;
    this.uplot?.redraw(false, false);
  }

  end() {
    this.size.disconnect();
    this.uplot?.destroy();
    this.uplot = null;
  }

  private get isStack() {
    return this.info.kind === "stack" && !this.content?.base;
  }

  /** The columns that uPlot draws: for a pile the sums from the top down, else mean, max and min. */
  private columns(): uPlot.AlignedData {
    const { data, base, shift_ms = 0 } = this.content as ChartContent;
    const series = drawn(data);
    const x = middles(data);
    if (this.isStack) return [x, reached(series), ...piled(series).reverse()];
    const columns: Values[] = [];
    for (const one of series) columns.push(one.mean, bounds(one).max, bounds(one).min);
    if (base) {
      // Steps of the other period are as long.
      const offset = Math.round((base.from_ms + shift_ms - data.from_ms) / data.step_ms);
      for (const one of series) {
        const other = base.series.find((that) => that.id === one.id && labelOf(that) === labelOf(one));
        columns.push(x.map((_, k) => other?.mean[k - offset] ?? null));
      }
    }
    return [x, ...columns];
  }

  private lines(): { series: uPlot.Series[]; bands: uPlot.Band[] } {
    const { data, base } = this.content as ChartContent;
    const drawnSeries = drawn(data);
    const palette = colours(drawnSeries.map((one) => (one.instance ? "" : one.id)), theme());
    const points = (stroke: string): uPlot.Series.Points => ({
      show: true,
      size: 4,
      fill: stroke,
      filter: (self, index) => lonely(self.data[index] ?? []),
    });
    if (this.isStack) {
      const top: uPlot.Series = { stroke: styled("--outline"), width: 1, points: { show: false } };
      const piles = drawnSeries.map((_, k) => palette[drawnSeries.length - 1 - k] ?? "");
      return {
        series: [top, ...piles.map((fill) => ({ stroke: fill, fill, width: 0.5, points: points(fill) }))],
        bands: [],
      };
    }
    const series: uPlot.Series[] = [];
    const bands: uPlot.Band[] = [];
    for (const stroke of palette) {
      const at = series.length + 1;
      series.push({ stroke, width: 1.5, points: points(stroke) });
      for (let bound = 0; bound < 2; bound += 1) series.push({ stroke: "transparent", width: 0, points: { show: false } });
      bands.push({ series: [at + 1, at + 2], fill: `${stroke}33` });
    }
    if (base) for (const stroke of palette) series.push({ stroke, width: 1.5, dash: [4, 4], points: { show: false } });
    return { series, bands };
  }

  private build() {
    this.uplot?.destroy();
    const content = this.content as ChartContent;
    const { series, bands } = this.lines();
    const ink = styled("--soft");
    const grid = { stroke: styled("--line"), width: 1 };
    const font = "12px system-ui, sans-serif";
    let pressed = false;
    this.uplot = new uPlot(
      {
        width: Math.max(this.plot.clientWidth, 100),
        height: height(),
        ms: 1,
        legend: { show: false },
        scales: {
          x: { time: false, range: () => this.xRange() },
          y: { range: (_, _min, max) => [0, max > 0 ? max * 1.05 : 1] },
        },
        axes: [
          {
            stroke: ink,
            grid,
            font,
            size: 50,
            splits: (self, _axis, min, max) => splits(min, max, Math.max(2, self.width / 110), this.content?.zone ?? content.zone),
            values: (_, found) => axisLabels(found, this.content?.zone ?? content.zone),
          },
          { stroke: ink, grid, font, size: 76, space: 34, values: (_, found) => found.map((one) => formatted(one, content.data.unit)) },
        ],
        series: [{}, ...series],
        bands,
        cursor: {
          sync: { key: SYNC, scales: ["x", null], setSeries: false },
          drag: { x: true, y: false, setScale: false, dist: 5 },
          points: { show: false },
          y: false,
        },
        hooks: {
          setCursor: [() => this.read()],
          draw: [(self) => this.drawMark(self)],
          setSelect: [
            (self) => {
              // The other charts show the same selection, and only one of them asks for it.
              if (!pressed || self.select.width < 5) return;
              pressed = false;
              const [from, thru] = [self.select.left, self.select.left + self.select.width].map((at) => self.posToVal(at, "x"));
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              if (from !== undefined && thru !== undefined) this.actions.zoom(from, thru);
            },
          ],
          ready: [
            (self) => {
              self.over.addEventListener("mousedown", () => (pressed = true));
              self.over.addEventListener("click", () => this.openAt(self));
            },
          ],
        },
      },
      this.columns(),
      this.plot,
    );
  }

  private xRange(): [number, number] {
    return [this.content?.from_ms ?? 0, this.content?.thru_ms ?? 1];
  }

  private drawMark(self: uPlot) {
    const at = this.content?.at_ms ?? null;
    if (at === null) return;
    const x = self.valToPos(at + (this.content?.data.step_ms ?? 0) / 2, "x", true);
    const { left, top, width, height } = self.bbox;
    if (x < left || x > left + width) return;
    self.ctx.save();
    self.ctx.strokeStyle = styled("--mark");
    self.ctx.lineWidth = 2 * devicePixelRatio;
    self.ctx.beginPath();
    self.ctx.moveTo(x, top);
    self.ctx.lineTo(x, top + height);
    self.ctx.stroke();
    self.ctx.restore();
  }

  /** The step under the cursor. */
  private step(): number | null {
    const index = this.uplot?.cursor.idx ?? null;
    const isOver = (this.uplot?.cursor.left ?? -1) >= 0;
    return isOver ? index : null;
  }

  private openAt(self: uPlot) {
    const data = this.content?.data;
    if (!data) return;
    const at = self.posToVal(self.cursor.left ?? 0, "x");
    const step = Math.floor((at - data.from_ms) / data.step_ms);
    this.actions.open(data.from_ms + step * data.step_ms, data.step_ms);
  }

  /** Shift and an arrow move the cursor by a step, Enter opens its moment. */
  private key(event: KeyboardEvent) {
    const self = this.uplot;
    const data = this.content?.data;
    if (!self || !data) return;
    const count = self.data[0].length;
    if (event.key === "Enter" && this.step() !== null) {
      this.actions.open(data.from_ms + (this.step() ?? 0) * data.step_ms, data.step_ms);
    } else if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const by = event.key === "ArrowLeft" ? -1 : 1;
      const index = Math.min(Math.max((this.step() ?? count) + by, 0), count - 1);
      self.setCursor({ left: self.valToPos(self.data[0][index] ?? 0, "x"), top: 10 });
      this.describe();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The wheel with Ctrl or Shift, sideways wheels, one finger sideways, two fingers apart. */
  private gestures() {
    const place = (x: number) => {
      const box = this.uplot?.over.getBoundingClientRect();
      const { from_ms = 0, thru_ms = 1 } = this.content ?? {};
      if (!box || box.width === 0) return { at: from_ms, width: 1 };
      return { at: from_ms + ((x - box.left) / box.width) * (thru_ms - from_ms), width: box.width };
    };
    this.plot.addEventListener(
      "wheel",
      (event) => {
        const { at, width } = place(event.clientX);
        if (event.ctrlKey || event.metaKey || event.shiftKey) {
          const by = event.deltaY !== 0 ? event.deltaY : event.deltaX;
          this.actions.move(by > 0 ? 1.25 : 0.8, at, 0);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          this.actions.move(1, at, event.deltaX / width);
        } else {
          return;
        }
        event.preventDefault();
      },
      { passive: false },
    );
    const fingers = new Map<number, number>();
    let moved = 0;
    this.plot.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, event.clientX);
      moved = 0;
    });
    this.plot.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (before === undefined) return;
      const { at, width } = place(event.clientX);
      const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
      moved += Math.abs(event.clientX - before);
      if (others.length === 0) {
        if (moved > 8) this.actions.move(1, at, (before - event.clientX) / width);
      } else {
        const other = others[0] ?? 0;
        const [was, is] = [Math.abs(before - other), Math.abs(event.clientX - other)];
        if (was > 5 && is > 5) this.actions.move(was / is, place((other + event.clientX) / 2).at, 0);
      }
      fingers.set(event.pointerId, event.clientX);
    });
    for (const name of ["pointerup", "pointercancel"] as const) {
      this.plot.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
  }

  /** Shows the values under the cursor, or the newest. */
  private read() {
    const content = this.content;
    if (!content) return;
    const { data, zone } = content;
    const series = drawn(data);
    const count = series[0]?.mean.length ?? 0;
    const found = this.step();
    let step = found ?? count - 1;
    if (found === null) while (step > 0 && series.every((one) => (one.mean[step] ?? null) === null)) step -= 1;
    const palette = colours(series.map((one) => (one.instance ? "" : one.id)), theme());
    const rows_ms = data.history_step_ms ?? 0;
    const shape = `${this.shape}\n${rows_ms}`;
    if (this.values.length !== series.length || this.readings.dataset["shape"] !== shape) {
      this.readings.dataset["shape"] = shape;
      this.values = series.map(() => h("b", {}));
      this.readings.replaceChildren(
        ...series.map((one, k) => {
          const swatch = h("i", { "aria-hidden": "true" });
          swatch.style.background = palette[k] ?? "";
          return h("li", {}, swatch, labelOf(one), " ", this.values[k] ?? "");
        }),
      );
      if (rows_ms > 0) this.readings.append(h("li", {}, `history: a value for ${duration(rows_ms)}`));
      const hidden = data.series.length - series.length;
      if (hidden > 0) this.readings.append(h("li", {}, `the ${series.length} largest of ${data.series.length}: choose one above`));
    }
    series.forEach((one, k) => {
      const [mean, max] = [one.mean[step], one.max[step]];
      const peak = found !== null && max !== null && max !== undefined && mean !== null && max > (mean ?? 0) * 1.005;
      const element = this.values[k];
      if (element) text(element, `${formatted(mean, data.unit)}${peak ? ` (max ${formatted(max, data.unit)})` : ""}`);
    });
    text(this.when, step < 0 || count === 0 ? "" : dateAndClock(data.from_ms + step * data.step_ms, zone));
  }

  private describe() {
    const { data, from_ms, thru_ms, zone } = this.content as ChartContent;
    const read = drawn(data).map((one, k) => `${labelOf(one)} ${this.values[k]?.textContent ?? MISSING}`);
    const said = `${this.info.title}, ${periodText(from_ms, thru_ms, zone)} ${zone.name}. ${this.when.textContent}: ${read.join(", ")}`;
    this.plot.setAttribute("aria-label", said);
    this.plot.setAttribute("aria-roledescription", "chart");
  }

  private showTable() {
    if (!this.table.open || !this.content) return;
    const { data, zone } = this.content;
    const few = thinned({ ...data, series: drawn(data) }, TABLE_ROWS);
    const count = few.series[0]?.mean.length ?? 0;
    const head = h("tr", {}, h("th", { scope: "col" }, `Time (${zone.name})`));
    for (const one of few.series) head.append(h("th", { scope: "col" }, `${labelOf(one)}: mean, min – max`));
    const body = h("tbody", {});
    for (let k = count - 1; k >= 0; k -= 1) {
      const row = h("tr", {}, h("th", { scope: "row" }, dateAndClock(few.from_ms + k * few.step_ms, zone)));
      for (const one of few.series) {
        const [mean, min, max] = [one.mean[k], one.min[k], one.max[k]].map((value) => formatted(value, data.unit));
        const spread = min === MISSING ? "" : `, ${min} – ${max}`;
        row.append(h("td", {}, `${mean}${spread}`));
      }
      body.append(row);
    }
    const table = h("table", {}, h("caption", {}, this.info.title), h("thead", {}, head), body);
    const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${this.info.title} as a table` }, table);
    this.table.replaceChildren(this.table.firstChild as Node, box);
  }

  private saving(): HTMLElement {
    const files = h("div", {});
    const menu = h(
      "details",
      { class: "menu" },
      h("summary", { "aria-label": `Save ${this.info.title}` }, "Save"),
      h(
        "div",
        {},
        files,
        h("button", { type: "button", click: () => this.savePng() }, "PNG"),
        h("button", { type: "button", click: () => this.saveSvg() }, "SVG"),
      ),
    );
    menu.addEventListener("toggle", () => {
      files.replaceChildren(...savingLinks(this.info.id, this.actions.file));
    });
    return menu;
  }

  private saveSvg() {
    const content = this.content;
    if (!content) return;
    const { title, kind } = this.info;
    const file = svgOf(content.data, { ...content, title, kind });
    download(`${this.info.id}.svg`, new Blob([file], { type: "image/svg+xml" }));
  }

  /** uPlot's own picture, below the title and what its colours mean. */
  private savePng() {
    const [content, self] = [this.content, this.uplot];
    if (!content || !self) return;
    const { canvas: source } = self.ctx;
    const scale = devicePixelRatio;
    const canvas = h("canvas", { width: source.width, height: source.height + 56 * scale });
    const ink = canvas.getContext("2d");
    if (!ink) return;
    ink.fillStyle = styled("--paper");
    ink.fillRect(0, 0, canvas.width, canvas.height);
    ink.drawImage(source, 0, 56 * scale);
    ink.scale(scale, scale);
    ink.fillStyle = styled("--ink");
    ink.font = "bold 15px system-ui, sans-serif";
    ink.fillText(this.info.title, 8, 22);
    ink.font = "12px system-ui, sans-serif";
    const when = `${periodText(content.from_ms, content.thru_ms, content.zone)} ${content.zone.name}`;
    const width = canvas.width / scale;
    ink.fillText(when, Math.max(8, width - 8 - ink.measureText(when).width), 22);
    const series = drawn(content.data);
    const palette = colours(series.map((one) => (one.instance ? "" : one.id)), theme());
    let left = 8;
    series.forEach((one, k) => {
      if (left > width) return;
      ink.fillStyle = palette[k] ?? "";
      ink.fillRect(left, 36, 10, 10);
      ink.fillStyle = styled("--ink");
      ink.fillText(labelOf(one), left + 14, 46);
      left += 28 + ink.measureText(labelOf(one)).width;
    });
    canvas.toBlob((blob) => {
      if (blob) download(`${this.info.id}.png`, blob);
    });
  }
}
