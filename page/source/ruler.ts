// The ruler over all recorded time: how busy the machine was, gaps, marked spikes, and the period that the
// page shows.

import type { Period, RulerData, Spike } from "./api";
import { PERIOD_MS_MIN } from "./address";
import { styled } from "./colour";
import { h } from "./dom";
import { formatted } from "./format";
import { axisLabels, dateAndClock, period as periodText, splits, type Zone } from "./time";

const HEIGHT = 56;
/** Marks of spikes that the ruler has room for. */
const MARKS_MAX = 60;

export interface RulerActions {
  zoom: (from_ms: number, thru_ms: number) => void;
  open: (spike: Spike) => void;
  move: (factor: number, about_ms: number, share: number) => void;
}

export class Ruler {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly span = h("div", { class: "span" });
  private readonly drag = h("div", { class: "drag" });
  private readonly marks = h("div", { class: "marks" });
  private readonly strip: HTMLElement;
  private data: RulerData | null = null;
  private all: Period = { from_ms: 0, thru_ms: 1 };
  private shown: Period = { from_ms: 0, thru_ms: 1 };
  private zone: Zone = { choice: "utc", name: "UTC" };

  constructor(private readonly actions: RulerActions) {
    this.strip = h("div", { class: "strip", tabindex: 0, role: "application", "aria-roledescription": "ruler" }, this.canvas, this.span, this.drag, this.marks);
    this.element = h("section", { class: "ruler", "aria-label": "All recorded time" }, this.strip);
    new ResizeObserver(() => this.draw()).observe(this.strip);
    this.pointer();
  }

  /** Shows the period of the page, and data if there is new. */
  show(shown: Period, zone: Zone, data?: RulerData) {
    this.shown = shown;
    this.zone = zone;
    if (data) {
      this.data = data;
      const thru_ms = data.from_ms + data.step_ms * data.max.length;
      this.all = { from_ms: data.from_ms, thru_ms: Math.max(thru_ms, data.from_ms + PERIOD_MS_MIN) };
    }
    this.draw();
  }

  /** All recorded time, as far as the ruler knows. */
  get recorded(): Period {
    return this.all;
  }

  private across(at_ms: number): number {
    const { from_ms, thru_ms } = this.all;
    return Math.min(Math.max(((at_ms - from_ms) / (thru_ms - from_ms)) * this.strip.clientWidth, 0), this.strip.clientWidth);
  }

  private timeAt(x: number): number {
    const box = this.strip.getBoundingClientRect();
    const share = Math.min(Math.max((x - box.left) / Math.max(box.width, 1), 0), 1);
    return this.all.from_ms + share * (this.all.thru_ms - this.all.from_ms);
  }

  private draw() {
    const width = this.strip.clientWidth;
    const scale = devicePixelRatio;
    if (width === 0 || !this.data) return;
    this.canvas.width = width * scale;
    this.canvas.height = HEIGHT * scale;
    const ink = this.canvas.getContext("2d");
    if (!ink) return;
    ink.scale(scale, scale);
    const bottom = HEIGHT - 16;
    const { from_ms, step_ms, max, mean, gaps } = this.data;
    ink.fillStyle = styled("--gap");
    for (const gap of gaps) {
      const left = this.across(gap.from_ms);
      ink.fillRect(left, 0, Math.max(this.across(gap.thru_ms) - left, 1), bottom);
    }
    for (const [values, colour] of [[max, styled("--faint")], [mean, styled("--blue")]] as const) {
      ink.fillStyle = colour;
      values.forEach((value, k) => {
        if (value === null) return;
        const left = this.across(from_ms + k * step_ms);
        const size = Math.max((Math.min(value, 100) / 100) * (bottom - 2), 1);
        ink.fillRect(left, bottom - size, Math.max(this.across(from_ms + (k + 1) * step_ms) - left, 1), size);
      });
    }
    ink.fillStyle = styled("--soft");
    ink.font = "11px system-ui, sans-serif";
    const times = splits(this.all.from_ms, this.all.thru_ms, Math.max(2, width / 120), this.zone);
    axisLabels(times, this.zone).forEach((label, k) => {
      const words = label.split("\n").reverse().join(" ");
      const left = this.across(times[k] ?? 0);
      ink.fillRect(left, bottom, 1, 4);
      if (left + ink.measureText(words).width < width) ink.fillText(words, left + 3, HEIGHT - 3);
    });
    this.place(this.span, this.shown.from_ms, this.shown.thru_ms);
    this.drawMarks();
    const said = `Recorded: ${periodText(this.all.from_ms, this.all.thru_ms, this.zone)} ${this.zone.name}; shown: ${periodText(this.shown.from_ms, this.shown.thru_ms, this.zone)}`;
    this.strip.setAttribute("aria-label", said);
  }

  private place(element: HTMLElement, from_ms: number, thru_ms: number) {
    const left = this.across(Math.min(from_ms, thru_ms));
    element.style.left = `${left}px`;
    element.style.width = `${Math.max(this.across(Math.max(from_ms, thru_ms)) - left, 4)}px`;
  }

  private drawMarks() {
    const spikes = [...(this.data?.spikes ?? [])].sort((a, b) => b.value - a.value).slice(0, MARKS_MAX);
    this.marks.replaceChildren(
      ...spikes.map((spike) => {
        // The list of spikes is what a keyboard and a screen reader use.
        const mark = h("button", { type: "button", tabindex: -1, "aria-hidden": "true", title: spoken(spike, this.zone), click: () => this.actions.open(spike) });
        mark.style.left = `${Math.min(Math.max(this.across(spike.at_ms), 5), this.strip.clientWidth - 5)}px`;
        return mark;
      }),
    );
  }

  private pointer() {
    let start: { x: number; at: number } | null = null;
    this.strip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || (event.target as Element).closest("button")) return;
      start = { x: event.clientX, at: this.timeAt(event.clientX) };
      this.strip.setPointerCapture(event.pointerId);
    });
    this.strip.addEventListener("pointermove", (event) => {
      if (start) this.place(this.drag, start.at, this.timeAt(event.clientX));
      this.drag.hidden = !start;
    });
    this.strip.addEventListener("pointercancel", () => (start = null));
    this.strip.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [at, end] = [start.at, this.timeAt(event.clientX)];
      const isClick = Math.abs(event.clientX - start.x) < 5;
      start = null;
      this.drag.hidden = true;
      // A click moves the period there.
      const half = (this.shown.thru_ms - this.shown.from_ms) / 2;
      if (isClick) this.actions.zoom(at - half, at + half);
      else this.actions.zoom(Math.min(at, end), Math.max(at, end));
    });
    this.strip.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.actions.move(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.clientX), 0);
      },
      { passive: false },
    );
  }
}

/** A spike in words. */
export function spoken(spike: Spike, zone: Zone): string {
  const unit = unitOf(spike);
  const usual = spike.usual === null ? "" : `, usually ${formatted(spike.usual, unit)}`;
  return `${dateAndClock(spike.at_ms, zone)}: ${spike.label} ${formatted(spike.value, unit)}${usual}`;
}

/** The unit of a spike's value: what the charts of these names have. */
function unitOf(spike: Spike): string {
  const name = spike.chart.split("/")[0] ?? "";
  if (["cpu", "cpu-each", "pressure", "disk-busy"].includes(name)) return "percent";
  if (["disk", "network"].includes(name)) return "bytes/s";
  if (["memory", "swap"].includes(name)) return "bytes";
  return name === "load" ? "count" : "count/s";
}
