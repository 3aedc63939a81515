// The parts of the service: how each is; a strip on every view tells which have failed.

import { addressOf, question, ServerError } from "./api";
import { h, isAbort } from "./dom";
import { dateAndClock, type Zone } from "./time";

/** How often the parts are looked at. */
const AGAIN_MS = 10_000;

export interface Part {
  name: string;
  state: "runs" | "waits" | "pauses" | null;
  since_ms: number | null;
  /** Since when it is not well. */
  failing_since_ms: number | null;
  /** When it starts again. */
  next_ms: number | null;
  why: string | null;
  pid: number | null;
  failed: number | null;
  last_error_ms: number | null;
  last_error: string | null;
  /** Since when, and why, it cannot write what it should. */
  unwritten_since_ms?: number | null;
  unwritten?: string | null;
  cpu_percent: number | null;
  cpu_seconds: number | null;
  rss_bytes: number | null;
  threads: number | null;
  written_bytes: number | null;
  written_bytes_s: number | null;
}

export interface Parts {
  now_ms: number;
  started_ms: number | null;
  configuration: string | null;
  folder: string | null;
  /** Since when its disk is nearly full. */
  full_since_ms: number | null;
  refused_ms: number | null;
  refused: string | null;
  /** Pages that could not follow live, since there were as many as are served. */
  streams_refused?: number;
  parts: Part[];
}

export const partsAddress = (of: string | null) => addressOf("parts", { of });

/** What is not well, a sentence each. */
export function troubles(all: Parts, zone: Zone): string[] {
  const at = (time_ms: number) => `${dateAndClock(time_ms, zone)} ${zone.name}`;
  const found: string[] = [];
  if (all.full_since_ms !== null) found.push(`The disk of ${all.folder} is nearly full since ${at(all.full_since_ms)}: nothing new is written until there is room.`);
  if (all.refused_ms !== null) found.push(`The configuration was refused at ${at(all.refused_ms)}, and the old one is in force: ${all.refused}`);
  for (const part of all.parts) {
    if (typeof part.unwritten_since_ms === "number") found.push(`${part.name} cannot write since ${at(part.unwritten_since_ms)}: ${part.unwritten ?? "it does not say why"}.`);
    if (part.failing_since_ms === null) continue;
    const again = part.next_ms === null ? "" : ` It starts again at ${at(part.next_ms)}.`;
    found.push(`${part.name} fails since ${at(part.failing_since_ms)}: ${part.last_error ?? "it does not say why"}.${again}`);
  }
  return found;
}

/** The strip: hidden while all is well. */
export class PartsStrip {
  readonly element = h("section", { class: "sums unreachable", "aria-label": "What of whit has failed", hidden: true });
  private timer = 0;
  private zone: Zone | null = null;
  private said = "";

  /** Looks at the parts from now on. */
  start(zone: Zone) {
    this.zone = zone;
    if (this.timer !== 0) return;
    this.timer = window.setInterval(() => document.hidden || void this.look(), AGAIN_MS);
    void this.look();
  }

  private async look() {
    let lines: string[];
    try {
      const parts = await question<Parts>(partsAddress(null));
      lines = this.zone ? troubles(parts, this.zone) : [];
    } catch (error) {
      // A connection that is lost is told by all else.
      if (isAbort(error) || !(error instanceof ServerError)) return;
      lines = [error.message];
    }
    const said = lines.join("\n");
    if (said === this.said) return;
    this.said = said;
    this.element.replaceChildren(...lines.map((line) => h("div", { role: "status" }, line)));
    this.element.hidden = lines.length === 0;
  }
}
