// A table of log records, of which one is open with all its data.  Texts come from any program: they are
// text nodes, and characters that would change how others are shown are shown themselves.

import * as api from "./api";
import type { LogRecord } from "./api";
import { askedOf, type Context } from "./context";
import { h, isAbort } from "./dom";
import { MISSING } from "./format";
import { clock, dateAndClock } from "./time";

/** Characters of a text in a row. */
const ROW_CHARACTERS = 500;
/** Characters of a text that is open. */
const TEXT_CHARACTERS = 200_000;
/** What has an own place. */
const KNOWN = ["id", "at_ms", "time", "level", "message", "context", "data", "is_short", "message_bytes"];

/** A text without characters that move or hide others: control characters, marks of direction. */
export function visible(text: string, keepsLines = false): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (one) => {
    const code = one.charCodeAt(0);
    if (keepsLines && (one === "\n" || one === "\t")) return one;
    if (one === "\n") return " ↵ ";
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const begin = (text: string, most: number) => (text.length <= most ? text : `${text.slice(0, most)} …`);

/** `10:15:07.123`: of a record the milliseconds matter. */
function time(record: LogRecord, context: Context, hasDate: boolean): string {
  const whole = Math.floor(record.at_ms / 1000) * 1000;
  const rest = String(record.at_ms - whole).padStart(3, "0");
  return `${(hasDate ? dateAndClock : clock)(whole, context.zone)}.${rest}`;
}

/** How a level is told from others besides its word. */
function kind(level: string): string {
  if (["ERROR", "CRITICAL", "ALERT", "EMERGENCY"].includes(level)) return "bad";
  return level === "WARNING" ? "warned" : "quiet";
}

function row(context: Context, record: LogRecord, hasDate: boolean, isOpen: boolean, isOurs: boolean): HTMLElement {
  const open = () => context.go({ record: isOpen ? "" : record.id }, true);
  const text = begin(visible(record.message), ROW_CHARACTERS);
  const cell = (value: string) => h("td", { class: "text" }, h("bdi", {}, value === "" ? MISSING : begin(visible(value), 200)));
  return h(
    "tr",
    { class: `${isOpen ? "open " : ""}${isOurs ? "after" : ""}`.trim() || null },
    h("td", { class: "text when" }, time(record, context, hasDate)),
    h("td", { class: "text" }, h("span", { class: `level ${kind(record.level)}` }, record.level)),
    h("td", { class: "text message" }, h("button", { type: "button", "aria-expanded": isOpen ? "true" : "false", click: open }, h("bdi", {}, text === "" ? "(no text)" : text))),
    cell(record.logger ?? ""),
    cell(record.process ?? ""),
    cell(record.host ?? ""),
  );
}

/** Names and values, as they came. */
function values(title: string, found: [string, unknown][]): HTMLElement[] {
  if (found.length === 0) return [];
  const lines = found.flatMap(([name, value]) => [
    h("dt", {}, h("bdi", {}, begin(visible(name), 200))),
    h("dd", {}, h("bdi", {}, begin(visible(typeof value === "string" ? value : (JSON.stringify(value) ?? "")), TEXT_CHARACTERS))),
  ]);
  return [h("h3", {}, title), h("dl", {}, ...lines)];
}

const entries = (value: unknown): [string, unknown][] => (value !== null && typeof value === "object" ? Object.entries(value) : []);

/** A record with all its data. */
function whole(context: Context, record: LogRecord): HTMLElement {
  const { go, host } = context;
  const machine = h("button", { type: "button", click: () => go({ at_ms: record.at_ms, tab: "processes", sort: "" }) }, `The moment of ${host.host} at this time`);
  const near = h("button", { type: "button", click: () => go({ at_ms: record.at_ms, tab: "logs", sort: "" }) }, "Records around it");
  const cut = record.is_short ? h("p", { class: "foot" }, `The begin of ${record.message_bytes ?? "many"} bytes`) : null;
  const pre = h("pre", { tabindex: 0, dir: "auto", "aria-label": "The text of the record" }, begin(visible(record.message, true), TEXT_CHARACTERS));
  return h(
    "div",
    { class: "whole" },
    h("div", { class: "tools" }, machine, near, h("a", { href: api.addressOf("logs/record", { id: record.id, of: askedOf(context) }), target: "_blank" }, "JSON")),
    pre,
    cut,
    ...values("Record", Object.entries(record).filter(([name]) => name === "time" || !KNOWN.includes(name))),
    ...values("Context", entries(record["context"])),
    ...values("Data", entries(record["data"])),
  );
}

/** Asks for the rest of a record that came shortened. */
function rest(context: Context, record: LogRecord, into: HTMLElement) {
  api.logRecord(record.id, askedOf(context)).then(
    (found) => into.replaceChildren(whole(context, found)),
    (error: unknown) => {
      if (!isAbort(error)) into.append(h("p", { class: "missing" }, error instanceof Error ? error.message : String(error)));
    },
  );
}

/** The table; a line marks where `at_ms` is, if there is one. */
export function recordTable(context: Context, records: LogRecord[], caption: string, hasDate: boolean, open: string, at_ms: number | null = null): HTMLElement {
  const names = ["Time", "Level", "Text", "Logger", "Program", "Host"];
  const head = h("tr", {}, ...names.map((name) => h("th", { scope: "col", class: "text" }, name)));
  const body = h("tbody", {});
  const first = at_ms === null ? null : records.find((record) => record.at_ms >= at_ms);
  for (const record of records) {
    const isOpen = record.id === open;
    body.append(row(context, record, hasDate, isOpen, record === first));
    if (!isOpen) continue;
    const cell = h("td", { colspan: names.length, class: "data" }, whole(context, record));
    body.append(h("tr", { class: "open" }, cell));
    if (record.is_short) rest(context, record, cell);
  }
  return h("div", { class: "scroll records", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption), h("thead", {}, head), body));
}
