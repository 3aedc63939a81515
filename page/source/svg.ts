// A chart as an SVG file, drawn from its values: sharp at every size, and readable without the page.

import type { ChartData, Values } from "./api";
import { colours } from "./colour";
import { formatted } from "./format";
import { bounds, drawn, labelOf, middles, piled, reached } from "./series";
import { axisLabels, period, splits, type Zone } from "./time";

const WIDTH = 960;
const HEIGHT = 320;
const PLOT = { left: 80, top: 40, right: 944, bottom: 236 };

/** Text of a file of XML. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // XML has no way to write most control characters.
  const plain = Array.from(text, (one) => (one < " " ? "\u{fffd}" : one)).join("");
  return plain.replace(/[&<>"]/g, (one) => names[one] ?? one);
}

/** Round values from 0 that hold the largest one. */
export function levels(largest: number): number[] {
  const size = largest > 0 ? largest : 1;
  const power = 10 ** Math.floor(Math.log10(size / 4));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => size / one <= 4) ?? size / 4;
  return Array.from({ length: Math.ceil(size / step - 1e-9) + 1 }, (_, k) => k * step);
}

/** Runs of steps that have values, each as its points. */
function runs(values: Values, x: number[], y: (value: number) => number): [number, number][][] {
  const found: [number, number][][] = [];
  let run: [number, number][] = [];
  values.forEach((value, k) => {
    if (value === null) {
      if (run.length > 0) found.push(run);
      run = [];
    } else {
      run.push([x[k] ?? 0, y(value)]);
    }
  });
  if (run.length > 0) found.push(run);
  return found;
}

const points = (run: [number, number][]) => run.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

export interface Picture {
  title: string;
  kind: "line" | "stack";
  from_ms: number;
  thru_ms: number;
  zone: Zone;
  /** The same chart of another period, which is drawn dashed, moved by so much. */
  base?: ChartData | null;
  shift_ms?: number;
}

/** The file. */
export function svgOf(data: ChartData, picture: Picture): string {
  const series = drawn(data);
  const isStack = picture.kind === "stack";
  const palette = colours(series.map((one) => (one.instance ? "" : one.id)), "light");
  const sums = piled(series);
  const tops = isStack ? [reached(series)] : series.map((one) => bounds(one).max);
  const others = series.map((one) => picture.base?.series.find((that) => that.id === one.id && labelOf(that) === labelOf(one))?.mean ?? []);
  const most = Math.max(0, ...[...tops, ...others].flat().filter((one) => one !== null));
  const marks = levels(most);
  const top = marks.at(-1) ?? 1;
  const span = picture.thru_ms - picture.from_ms;
  const across = (at: number) => PLOT.left + ((at - picture.from_ms) / span) * (PLOT.right - PLOT.left);
  const y = (value: number) => PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top);
  const x = middles(data).map(across);
  const lines: string[] = [];
  for (const mark of marks) {
    const at = y(mark).toFixed(1);
    lines.push(`<path d="M${PLOT.left} ${at}H${PLOT.right}" stroke="#ddd"/>`);
    lines.push(`<text x="${PLOT.left - 8}" y="${at}" dy="4" text-anchor="end">${formatted(mark, data.unit)}</text>`);
  }
  const times = splits(picture.from_ms, picture.thru_ms, 8, picture.zone);
  axisLabels(times, picture.zone).forEach((label, index) => {
    const at = across(times[index] ?? 0).toFixed(1);
    label.split("\n").forEach((line, row) => {
      lines.push(`<text x="${at}" y="${PLOT.bottom + 18 + row * 15}" text-anchor="middle">${line}</text>`);
    });
  });
  lines.push(`<clipPath id="plot"><path d="M${PLOT.left} ${PLOT.top}H${PLOT.right}V${PLOT.bottom}H${PLOT.left}z"/></clipPath>`);
  lines.push(`<g clip-path="url(#plot)">`);
  const order = series.map((_, index) => index);
  for (const index of isStack ? order.reverse() : order) {
    const one = series[index];
    const colour = palette[index] ?? "#777";
    if (!one) continue;
    if (isStack) {
      for (const run of runs(sums[index] ?? [], x, y)) {
        const [first, last] = [run[0], run.at(-1)];
        if (first && last) {
          lines.push(`<path d="M${first[0].toFixed(1)} ${y(0)}L${points(run)}V${y(0)}z" fill="${colour}"/>`);
        }
      }
      continue;
    }
    const highs = runs(bounds(one).max, x, y);
    runs(bounds(one).min, x, y).forEach((low, part) => {
      const band = [...(highs[part] ?? []), ...low.reverse()];
      lines.push(`<polygon points="${points(band)}" fill="${colour}" fill-opacity=".2"/>`);
    });
    for (const run of runs(one.mean, x, y)) {
      const [single] = run;
      lines.push(
        run.length === 1 && single
          ? `<circle cx="${single[0].toFixed(1)}" cy="${single[1].toFixed(1)}" r="2" fill="${colour}"/>`
          : `<polyline points="${points(run)}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      );
    }
  }
  const { base, shift_ms = 0 } = picture;
  const moved = base ? middles(base).map((at) => across(at + shift_ms)) : [];
  others.forEach((values, index) => {
    for (const run of runs(values, moved, y)) {
      lines.push(`<polyline points="${points(run)}" fill="none" stroke="${palette[index] ?? "#777"}" stroke-width="1.5" stroke-dasharray="4 4"/>`);
    }
  });
  if (isStack) {
    for (const run of runs(reached(series), x, y)) {
      lines.push(`<polyline points="${points(run)}" fill="none" stroke="#222" stroke-width=".8"/>`);
    }
  }
  lines.push("</g>");
  let left = PLOT.left;
  series.forEach((one, index) => {
    const label = labelOf(one);
    if (left > PLOT.right - 60) return;
    lines.push(`<rect x="${left}" y="288" width="10" height="10" fill="${palette[index]}"/>`);
    lines.push(`<text x="${left + 15}" y="297">${escaped(label)}</text>`);
    left += 35 + label.length * 7;
  });
  const other = base ? `; dashed: ${period(picture.from_ms - shift_ms, picture.thru_ms - shift_ms, picture.zone)}` : "";
  const when = `${period(picture.from_ms, picture.thru_ms, picture.zone)} ${picture.zone.name}${other}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">
<title>${escaped(picture.title)}, ${escaped(when)}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${PLOT.left}" y="24" font-size="15" font-weight="bold">${escaped(picture.title)}</text>
<text x="${PLOT.right}" y="24" text-anchor="end">${escaped(when)}</text>
${lines.join("\n")}
</svg>
`;
}
