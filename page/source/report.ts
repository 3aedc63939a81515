// A report: the answers to the page's questions about a period, in the file of the page itself.  What is not
// in it is said to be so.

import type { ChartData, Heaviest, HeaviestRow, Period, RulerData, Series, Values } from "./api";

/** What an answer of the report was asked for. */
interface Head {
  name: string;
  host?: string;
  from_ms?: number;
  thru_ms?: number;
  step_ms?: number;
  what?: string;
  by?: string;
}

interface About {
  made_ms: number;
  version: string;
  /** The shortest step of curves of the whole period. */
  step_ms: number;
  moments: number;
  /** Single samples are there only around the spikes. */
  is_coarse: boolean;
  answers: Head[];
}

/** What is not in the report. */
export class NotInReport extends Error {}

/** The sentence of an answer that says why there is none. */
export class Refused extends Error {}

// Tests of modules have no document.
const found = globalThis.document?.getElementById("report")?.textContent;

/** What the report is; `null` of a page of a server. */
export const report: About | null = found ? (JSON.parse(found) as About) : null;

const heads = report?.answers ?? [];

/** Charts that were unpacked last: zooming asks for the same ones again. */
const unpacked = new Map<number, unknown>();
const UNPACKED_MAX = 24;

async function unpack<T>(number: number): Promise<T> {
  const known = unpacked.get(number);
  if (known !== undefined) return known as T;
  const text = atob(document.getElementById(`answer-${number}`)?.textContent ?? "");
  const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const answer = (await new Response(stream).json()) as { error?: string };
  if (answer.error !== undefined) throw new Refused(answer.error);
  unpacked.set(number, answer);
  for (const old of unpacked.keys()) if (unpacked.size > UNPACKED_MAX) unpacked.delete(old);
  return answer as T;
}

const place = (is: (head: Head) => boolean) => heads.findIndex(is);

async function only<T>(what: string, is: (head: Head) => boolean): Promise<T> {
  const number = place(is);
  if (number < 0) throw new NotInReport(`${what} is not in this report.`);
  return await unpack<T>(number);
}

/** Whether the sample that is the first one at or after a time is the one of this answer. */
const covers = (head: Head, at_ms: number) => at_ms > (head.from_ms ?? Infinity) - 1 && at_ms <= (head.thru_ms ?? -Infinity);

const momentsOf = (host: string) => heads.filter((head) => head.name === "moment" && head.host === host);

/** Whether the report has the moment of a time. */
export const hasMoment = (host: string, at_ms: number) => momentsOf(host).some((head) => covers(head, at_ms));

/** The times of the moments of the report, in order. */
export const momentTimes = (host: string) => momentsOf(host).map((head) => head.thru_ms ?? 0).sort((a, b) => a - b);

/** The moment of the report that is nearest to a time; `null` if it has none. */
export function nearestMoment(host: string, at_ms: number): number | null {
  const away = (one: number) => Math.abs(one - at_ms);
  return momentTimes(host).reduce<number | null>((best, one) => (best === null || away(one) < away(best) ? one : best), null);
}

/** The answer that a server would give, from what the report has. */
export async function answerOf(name: string, asked: URLSearchParams): Promise<unknown> {
  const host = asked.get("host") ?? "";
  const number = (key: string) => Number(asked.get(key));
  const is = (head: Head) => head.name === name && (head.host ?? "") === host;
  const period = { from_ms: number("from"), thru_ms: number("thru") };
  switch (name) {
    case "sections":
      return { sections: [] };
    case "hosts":
    case "charts":
      return await only(name, is);
    case "ruler":
      return ofPeriod(await only<RulerData>("The ruler", is), asked.get("from") === null ? null : period);
    case "chart":
      return await charts(host, period, number("points"), asked.getAll("id"), asked.getAll("instance"));
    case "moment":
    case "explain":
      return await only("This moment", (head) => is(head) && covers(head, number("at")));
    case "heaviest": {
      const [what, by] = [asked.get("what"), asked.get("by")];
      const data = await only<Heaviest>("This list", (head) => is(head) && head.what === what && head.by === by);
      const rows: HeaviestRow[] = data.rows.slice(0, number("count"));
      return { ...data, rows };
    }
    default:
      throw new NotInReport(name === "compare" ? "What differs between two periods is not in this report: its curves are." : `“${name}” is not in this report.`);
  }
}

/** The ruler with the spikes of a period. */
function ofPeriod(data: RulerData, period: Period | null): RulerData {
  if (!period) return data;
  return { ...data, spikes: data.spikes.filter(({ at_ms }) => at_ms >= period.from_ms && at_ms < period.thru_ms) };
}

/** The answers that have a period in the shortest step with which there are not more steps than wanted. */
function partsOf(host: string, { from_ms, thru_ms }: Period, points: number): number[] {
  const meets = (head: Head) => (head.thru_ms ?? 0) > from_ms && (head.from_ms ?? 0) < thru_ms;
  const all = heads.map((head, index) => ({ head, index })).filter(({ head }) => head.name === "chart" && head.host === host);
  const span = { from_ms: Math.min(...all.map(({ head }) => head.from_ms ?? 0)), thru_ms: Math.max(...all.map(({ head }) => head.thru_ms ?? 0)) };
  const steps = [...new Set(all.map(({ head }) => head.step_ms ?? 0))].sort((a, b) => a - b);
  let coarsest: number[] = [];
  for (const step of steps) {
    const level = all.filter(({ head }) => head.step_ms === step && meets(head));
    const length = level.reduce((sum, { head }) => sum + Math.min(head.thru_ms ?? 0, thru_ms) - Math.max(head.from_ms ?? 0, from_ms), 0);
    const wanted = Math.min(thru_ms, span.thru_ms) - Math.max(from_ms, span.from_ms);
    if (length < wanted - step) continue;
    coarsest = level.map(({ index }) => index);
    if ((thru_ms - from_ms) / step <= points * 1.2) break;
  }
  return coarsest;
}

async function charts(host: string, period: Period, points: number, ids: string[], instances: string[]): Promise<unknown> {
  const parts = partsOf(host, period, points);
  if (parts.length === 0) throw new NotInReport("Curves of this period are not in this report.");
  const lists = await Promise.all(parts.map((part) => unpack<{ charts: ChartData[] } | ChartData>(part)));
  const all = ids.map((id) => {
    const of = lists.map((list) => ("charts" in list ? list.charts : [list]).find((one) => one.id === id)).filter((one) => one !== undefined);
    return joined(of, period, instances);
  });
  const data = all.filter((one) => one !== null);
  if (data.length === 0) throw new NotInReport("These curves are not in this report.");
  return data.length === 1 ? data[0] : { charts: data };
}

/** The parts of a chart as one, cut to a period. */
export function joined(parts: ChartData[], period: Period, instances: string[]): ChartData | null {
  const [first] = parts;
  if (!first) return null;
  const { step_ms } = first;
  const begin = first.from_ms + Math.floor((Math.max(period.from_ms, first.from_ms) - first.from_ms) / step_ms) * step_ms;
  const last = Math.max(...parts.map((part) => part.from_ms + (part.series[0]?.mean.length ?? 0) * step_ms));
  const count = Math.max(Math.ceil((Math.min(period.thru_ms, last) - begin) / step_ms), 0);
  const series = new Map<string, Series>();
  const missing = (): Values => new Array<number | null>(count).fill(null);
  for (const part of parts) {
    const offset = Math.round((part.from_ms - begin) / step_ms);
    for (const one of part.series) {
      if (instances.length > 0 && !instances.includes(one.instance ?? "")) continue;
      const key = `${one.id}/${one.instance ?? ""}`;
      const into = series.get(key) ?? { ...one, mean: missing(), min: missing(), max: missing() };
      series.set(key, into);
      for (const list of ["mean", "min", "max"] as const) {
        one[list].forEach((value, k) => {
          if (value !== null && k + offset >= 0 && k + offset < count) into[list][k + offset] = value;
        });
      }
    }
  }
  return { id: first.id, unit: first.unit, from_ms: begin, step_ms, series: [...series.values()] };
}
