// A table whose columns sort and whose rows are filtered, with as many rows on screen as one can read.

import type { Cell } from "./api";
import { csvField, formatted, MISSING } from "./format";
import { download, h } from "./dom";

/** Rows that are drawn before one asks for all. */
const ROWS_AT_ONCE = 200;

export interface Column<Row> {
  id: string;
  label: string;
  /** `null` for text. */
  unit: string | null;
  value: (row: Row) => Cell;
  /** How the value is shown, where its unit does not say it. */
  shown?: (row: Row) => string | Node;
}

export interface TableOptions<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  sort: string;
  filter: string;
  /** The order of the rows is theirs: a tree is not sorted. */
  fixed?: boolean;
  /** Tells a row from others, as `ended`. */
  kind?: (row: Row) => string | null;
  sorted: (sort: string) => void;
}

/** The column and direction of `-cpu`. */
function direction(sort: string): [string, number] {
  return sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
}

/** Sorts rows by a column; missing values are last in both directions. */
export function sorted<Row>(rows: Row[], columns: Column<Row>[], sort: string): Row[] {
  const [id, sign] = direction(sort);
  const column = columns.find((one) => one.id === id);
  if (!column) return rows;
  const missing = (cell: Cell) => cell === null || cell === "";
  return [...rows].sort((left, right) => {
    const [a, b] = [column.value(left), column.value(right)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  });
}

/** Rows with every word of a filter in any of their columns. */
export function filtered<Row>(rows: Row[], columns: Column<Row>[], filter: string): Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = columns.map((column) => String(column.value(row) ?? "")).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The rows as a file of comma-separated values: plain numbers, and nothing where one is missing. */
export function csvOf<Row>(rows: Row[], columns: Column<Row>[]): string {
  const head = columns.map((column) => csvField(column.id)).join(",");
  const lines = rows.map((row) => columns.map((column) => csvField(String(column.value(row) ?? ""))).join(","));
  return [head, ...lines, ""].join("\n");
}

function jsonOf<Row>(rows: Row[], columns: Column<Row>[]): string {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column) => [column.id, column.value(row)])));
  return `${JSON.stringify(objects, null, 1)}\n`;
}

function cell<Row>(row: Row, column: Column<Row>): HTMLElement {
  const value = column.value(row);
  if (column.shown) return h("td", { class: column.unit === null ? "text" : "number" }, column.shown(row));
  if (typeof value === "number" && column.unit !== null) return h("td", { class: "number" }, formatted(value, column.unit));
  return h("td", { class: column.unit === null ? "text" : "number" }, value === null || value === "" ? MISSING : String(value));
}

/** The table, with links that save its rows as they are shown. */
export function tableOf<Row>(options: TableOptions<Row>): HTMLElement {
  const { caption, columns, sort, fixed } = options;
  const chosen = filtered(options.rows, columns, options.filter);
  const rows = fixed ? chosen : sorted(chosen, columns, sort);
  const [by, sign] = direction(sort);
  const head = h("tr", {});
  for (const column of columns) {
    const is = by === column.id && !fixed;
    // The largest number first, the first letter first.
    const next = is && sign < 0 ? column.id : is || column.unit === null ? (is ? `-${column.id}` : column.id) : `-${column.id}`;
    const arrow = h("span", { "aria-hidden": "true" }, is ? (sign < 0 ? " ▼" : " ▲") : "");
    head.append(
      h(
        "th",
        { scope: "col", class: column.unit === null ? "text" : "number", "aria-sort": is ? (sign < 0 ? "descending" : "ascending") : null },
        h("button", { type: "button", click: () => options.sorted(next) }, column.label, arrow),
      ),
    );
  }
  const body = h("tbody", {});
  const draw = (from: number, to: number) => {
    for (const row of rows.slice(from, to)) {
      body.append(h("tr", { class: options.kind?.(row) }, ...columns.map((column) => cell(row, column))));
    }
  };
  draw(0, ROWS_AT_ONCE);
  const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const save = (ending: string, content: () => string, type: string) =>
    h("button", { type: "button", click: () => download(`${name}.${ending}`, new Blob([content()], { type })) }, ending.toUpperCase());
  const foot = h("p", { class: "foot" }, rows.length === options.rows.length ? `${rows.length} rows ` : `${rows.length} of ${options.rows.length} rows `);
  if (rows.length > ROWS_AT_ONCE) {
    const all = h("button", { type: "button" }, `Show all, not only ${ROWS_AT_ONCE}`);
    all.addEventListener("click", () => {
      draw(ROWS_AT_ONCE, rows.length);
      all.remove();
    });
    foot.append(all, " ");
  }
  foot.append("Save: ", save("csv", () => csvOf(rows, columns), "text/csv"), " ", save("json", () => jsonOf(rows, columns), "application/json"));
  const table = h("table", {}, h("caption", {}, caption), h("thead", {}, head), body);
  return h("div", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table), foot);
}
