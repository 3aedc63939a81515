// Numbers with their units, as people read them: 1.2 MB/s, 34 %, 1.5 k/s.

export type Unit = "percent" | "bytes" | "bytes/s" | "count/s" | "count" | "seconds";

/** What is shown where a value is missing: never a 0. */
export const MISSING = "–";

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

/** Three significant digits, and no more decimals than they need. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return trimmed(value.toFixed(1));
  return trimmed(value.toFixed(size >= 0.1 ? 2 : 3));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A number with a decimal prefix: 1,234,567 is `1.23 M`. */
function prefixed(value: number): [string, string] {
  let size = Math.abs(value);
  let index = 0;
  // 999.5 would be shown as 1000.
  while (size >= 999.5 && index < PREFIXES.length - 1) {
    size /= 1000;
    index += 1;
  }
  return [digits(value < 0 ? -size : size), PREFIXES[index] ?? ""];
}

/** A value with its unit; `MISSING` without one. */
export function formatted(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  switch (unit) {
    case "percent":
      return `${digits(value)} %`;
    case "seconds":
      return duration(value * 1000);
    case "bytes":
    case "bytes/s": {
      const [number, prefix] = prefixed(value);
      return `${number} ${prefix}B${unit === "bytes" ? "" : "/s"}`;
    }
    default: {
      const [number, prefix] = prefixed(value);
      const suffix = unit === "count/s" ? "/s" : unit === "count" ? "" : unit;
      const rest = `${prefix}${suffix}`;
      return rest === "" ? number : `${number} ${rest}`;
    }
  }
}

/** A length of time with its two largest units: `2 h 5 min`, `340 ms`. */
export function duration(milliseconds: number): string {
  const sign = milliseconds < 0 ? "-" : "";
  let rest = Math.abs(milliseconds);
  if (rest === 0) return "0 s";
  if (rest < 1) return `${sign}${digits(rest * 1000)} µs`;
  if (rest < 1000) return `${sign}${digits(rest)} ms`;
  if (rest < 60_000) return `${sign}${digits(rest / 1000)} s`;
  rest = Math.round(rest / 1000) * 1000;
  const units: [number, string][] = [
    [31_536_000_000, "y"],
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1000, "s"],
  ];
  const first = units.findIndex(([size]) => rest >= size);
  const parts: string[] = [];
  for (const [size, name] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return sign + parts.join(" ");
}

/** How many times a value is of another: `3.2 ×`; `MISSING` where that says nothing. */
export function ratio(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  return `${digits(value)} ×`;
}

/** A field of a file of comma-separated values. */
export function csvField(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
