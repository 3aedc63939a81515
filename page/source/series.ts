// What is done with the values of a chart: piling up, new samples, peaks, tables.  No element is touched here.

import type { ChartData, Series, Values } from "./api";

/** Most series that one chart draws: more cannot be told apart. */
export const DRAWN_MAX = 12;

/** How many steps a chart has. */
export const stepCount = (data: ChartData) => data.series[0]?.mean.length ?? 0;

/** The middle of each step. */
export function middles(data: ChartData): number[] {
  return Array.from({ length: stepCount(data) }, (_, k) => data.from_ms + (k + 0.5) * data.step_ms);
}

/** The largest value of a list; `null` if all are missing. */
export function largest(values: Values): number | null {
  let found: number | null = null;
  for (const value of values) if (value !== null && (found === null || value > found)) found = value;
  return found;
}

/** The series to draw: all, or those with the largest values. */
export function drawn(data: ChartData): Series[] {
  if (data.series.length <= DRAWN_MAX) return data.series;
  const sizes = data.series.map((series, index) => ({ index, size: largest(bounds(series).max) ?? -Infinity }));
  sizes.sort((a, b) => b.size - a.size || a.index - b.index);
  const kept = new Set(sizes.slice(0, DRAWN_MAX).map(({ index }) => index));
  return data.series.filter((_, index) => kept.has(index));
}

/** Each series on top of those before it.  A step in which all are missing stays missing. */
export function piled(series: Series[]): Values[] {
  const sums: Values = [];
  return series.map(({ mean }) =>
    mean.map((value, k) => {
      const sum = sums[k] ?? null;
      sums[k] = value === null ? sum : (sum ?? 0) + value;
      return sums[k] ?? null;
    }),
  );
}

/**
 * The least that the sum of all series has reached within each step: while one was at its largest, the
 * others were no less than their smallest.  The mean of a step hides a spike; this does not.
 */
export function reached(series: Series[]): Values {
  const count = series[0]?.mean.length ?? 0;
  return Array.from({ length: count }, (_, k) => {
    let sum: number | null = null;
    let mean = 0;
    let rise = 0;
    for (const one of series) {
      const value = one.mean[k] ?? null;
      if (value === null) continue;
      // What is made of several levels has no bounds.
      const [low, high] = [one.min[k] ?? value, one.max[k] ?? value];
      sum = (sum ?? 0) + low;
      mean += value;
      rise = Math.max(rise, high - low);
    }
    return sum === null ? null : Math.max(sum + rise, mean);
  });
}

/** The bounds of a series; where there are none, its means. */
export const bounds = (series: Series): { min: Values; max: Values } => ({
  min: series.mean.map((value, k) => series.min[k] ?? value),
  max: series.mean.map((value, k) => series.max[k] ?? value),
});

/** The sum of all series in each step, by one of their values. */
export function totals(series: Series[]): Values {
  return piled(series).at(-1) ?? [];
}

/** The steps whose neighbours are both missing: a line between points would not show them. */
export function lonely(values: Values | ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  const has = (k: number) => values[k] !== null && values[k] !== undefined;
  for (let k = 0; k < values.length; k += 1) if (has(k) && !has(k - 1) && !has(k + 1)) found.push(k);
  return found;
}

/** The step with the highest value of all series; `null` if there is none. */
export function highest(data: ChartData, isStack: boolean): number | null {
  const values = isStack ? [reached(data.series)] : data.series.map((one) => bounds(one).max);
  let found: number | null = null;
  let size = -Infinity;
  for (const list of values) {
    list.forEach((value, k) => {
      if (value !== null && value > size) [found, size] = [k, value];
    });
  }
  return found;
}

/** How many samples are in the mean of a step: those that came live are counted here. */
export type Counts = Map<number, number>;

/**
 * Adds a sample that has just come, and drops the steps that are before `from_ms`.
 * `value` says what the sample has for a series.
 */
export function append(
  data: ChartData,
  counts: Counts,
  at_ms: number,
  from_ms: number,
  value: (series: Series) => number | null,
) {
  const step = Math.floor((at_ms - data.from_ms) / data.step_ms);
  // A clock that was set back tells of steps that are drawn already.
  if (step < 0) return;
  const length = stepCount(data);
  // After a long gap all that was drawn is gone anyway.
  const most = Math.ceil((at_ms - from_ms) / data.step_ms) + 2;
  if (step - length > most) {
    for (const series of data.series) [series.mean, series.min, series.max] = [[], [], []];
    data.from_ms += step * data.step_ms;
    counts.clear();
    return append(data, counts, at_ms, from_ms, value);
  }
  const key = data.from_ms + step * data.step_ms;
  const before = counts.get(key) ?? (step < length ? 1 : 0);
  for (const series of data.series) {
    for (let k = series.mean.length; k <= step; k += 1) {
      series.mean.push(null);
      series.min.push(null);
      series.max.push(null);
    }
    const now = value(series);
    if (now === null) continue;
    const mean = series.mean[step] ?? null;
    series.mean[step] = mean === null ? now : (mean * before + now) / (before + 1);
    series.min[step] = Math.min(series.min[step] ?? now, now);
    series.max[step] = Math.max(series.max[step] ?? now, now);
  }
  counts.set(key, before + 1);
  if (counts.size > 4) for (const old of counts.keys()) if (old < key) counts.delete(old);
  const gone = Math.floor((from_ms - data.from_ms) / data.step_ms);
  if (gone > 0) {
    for (const series of data.series) {
      series.mean.splice(0, gone);
      series.min.splice(0, gone);
      series.max.splice(0, gone);
    }
    data.from_ms += gone * data.step_ms;
  }
}

/** The same values in at most `most` steps: means of means, and the outermost of the bounds. */
export function thinned(data: ChartData, most: number): ChartData {
  const count = stepCount(data);
  const factor = Math.max(1, Math.ceil(count / most));
  const parts = Array.from({ length: Math.ceil(count / factor) }, (_, part) => part * factor);
  const over = (values: Values, work: (found: number[]) => number) =>
    parts.map((start) => {
      const found = values.slice(start, start + factor).filter((one) => one !== null);
      return found.length === 0 ? null : work(found);
    });
  return {
    ...data,
    step_ms: data.step_ms * factor,
    series: data.series.map((one) => ({
      ...one,
      mean: over(one.mean, (found) => found.reduce((a, b) => a + b, 0) / found.length),
      min: over(one.min, (found) => Math.min(...found)),
      max: over(one.max, (found) => Math.max(...found)),
    })),
  };
}

/** What a series is called beside others of its chart. */
export function labelOf(series: Series): string {
  return series.instance ? `${series.instance} ${series.label}` : series.label;
}
