// What differs between two periods, as a table: for a moment, and for a comparison.

import type { Compared, Difference, ProcessDifference } from "./api";
import { formatted, ratio } from "./format";
import { h } from "./dom";
import { tableOf, type Column } from "./table";

const FIELDS: Column<Difference>[] = [
  { id: "label", label: "What", unit: null, value: (row) => (row.instance ? `${row.label} (${row.instance})` : row.label) },
  { id: "source", label: "Source", unit: null, value: (row) => row.source },
  { id: "value", label: "Now", unit: "count", value: (row) => row.value, shown: (row) => formatted(row.value, row.unit) },
  { id: "base", label: "Before", unit: "count", value: (row) => row.base, shown: (row) => formatted(row.base, row.unit) },
  { id: "difference", label: "Difference", unit: "count", value: (row) => row.difference, shown: (row) => formatted(row.difference, row.unit) },
  { id: "ratio", label: "Ratio", unit: "count", value: (row) => row.ratio, shown: (row) => ratio(row.ratio) },
  { id: "score", label: "Score", unit: "", value: (row) => row.score },
];

const PROCESSES: Column<ProcessDifference>[] = [
  { id: "name", label: "Processes", unit: null, value: (row) => row.name },
  { id: "what", label: "What", unit: null, value: (row) => row.what },
  { id: "value", label: "Now", unit: "count", value: (row) => row.value, shown: (row) => formatted(row.value, row.unit) },
  { id: "base", label: "Before", unit: "count", value: (row) => row.base, shown: (row) => formatted(row.base, row.unit) },
  {
    id: "difference",
    label: "Difference",
    unit: "count",
    value: (row) => (row.value === null ? null : row.value - (row.base ?? 0)),
    shown: (row) => formatted(row.value === null ? null : row.value - (row.base ?? 0), row.unit),
  },
];

/** The processes first, then all fields. */
export function differences(
  found: Compared,
  base: string,
  options: { sort: string; filter: string; sorted: (sort: string) => void },
): HTMLElement {
  const processes = tableOf({ caption: `Processes that differ from ${base}`, columns: PROCESSES, rows: found.processes, ...options });
  const fields = tableOf({ caption: `Fields that differ from ${base}`, columns: FIELDS, rows: found.rows, ...options });
  return h("div", { class: "differences" }, found.processes.length > 0 ? processes : null, fields);
}
