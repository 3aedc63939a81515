// What the views share: what is shown, of which host, in which zone, and how to go elsewhere.

import type { Shown } from "./address";
import { chart, chartAddress, type ChartInfo, type Host, type Period } from "./api";
import { hasMoment, nearestMoment, report } from "./report";
import { highest } from "./series";
import type { Zone } from "./time";

export interface Context {
  shown: Shown;
  host: Host;
  infos: ChartInfo[];
  zone: Zone;
  /** What the server has beside recordings. */
  sections: readonly string[];
  /** The period on screen; of a page that follows, up to the newest sample. */
  period: Period;
  /** Goes where this differs from what is shown; `replace` makes no step of the browser's history. */
  go: (change: Partial<Shown>, replace?: boolean) => void;
  /** Zooms by a factor about a time, and moves by a share of the period. */
  move: (factor: number, about_ms: number, share: number) => void;
  /** Says that something failed; `again` is tried when the connection is back. */
  fail: (error: unknown, again: () => void) => void;
  /** Says that all is well again. */
  fine: () => void;
}

/** The other whit that sections are asked of: that of the host on screen, if it is not this one. */
export const askedOf = ({ host }: Context): string | null => host.server ?? null;

/** Opens the moment of a step: the sample within it that is the highest, not the first one. */
export async function openHighest(context: Context, info: ChartInfo, at_ms: number, step_ms: number) {
  const { host, shown } = context;
  const interval = Math.max(host.interval_ms, 1);
  let at = at_ms;
  if (step_ms > interval) {
    const points = Math.min(Math.ceil(step_ms / interval), 2000);
    const instance = shown.instances[info.id];
    try {
      const data = await chart({ host: host.host, id: info.id, from_ms: at_ms, thru_ms: at_ms + step_ms, points, ...(instance ? { instance } : {}) });
      const found = highest(data, info.kind === "stack");
      if (found !== null) at = data.from_ms + found * data.step_ms;
    } catch {
      // The first sample of the step is shown instead, and says so itself if it cannot be had.
    }
  }
  if (report && !hasMoment(host.host, at)) {
    // One of the same step says more than none.
    const nearest = nearestMoment(host.host, at);
    if (nearest !== null && nearest >= at_ms && nearest <= at_ms + step_ms) at = nearest;
  }
  context.go({ at_ms: Math.max(0, Math.round(at)) });
}

/** The address of a chart's data as the page shows it. */
export function addressOfChart(context: Context, info: ChartInfo, points: number, format?: "csv"): string {
  const { host, period, shown } = context;
  return chartAddress({ host: host.host, id: info.id, ...period, points, instance: shown.instances[info.id] ?? null }, format);
}
