// Times of the page: in the zone of the viewer, of the machine, or UTC, and always said which.

/** Whose clock the page shows. */
export type ZoneChoice = "viewer" | "machine" | "utc";

/** A zone: what it is called, and the name that `Intl` knows it by. */
export interface Zone {
  choice: ZoneChoice;
  name: string;
}

/** The zone that a choice means, where the machine may have told its own. */
export function zoneOf(choice: ZoneChoice, machine: string | null | undefined): Zone {
  if (choice === "utc") return { choice, name: "UTC" };
  if (choice === "machine" && isZone(machine)) return { choice, name: machine };
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { choice: "viewer", name: isZone(name) ? name : "UTC" };
}

/** Whether `Intl` knows a zone. */
export function isZone(name: string | null | undefined): name is string {
  if (!name) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The parts of a time in a zone, as numbers. */
export function parts(at_ms: number, zone: Zone) {
  let format = formats.get(zone.name);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone.name,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formats.set(zone.name, format);
  }
  const found: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at_ms)) found[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found;
  return { year, month, day, hour, minute, second, millisecond: ((at_ms % 1000) + 1000) % 1000 };
}

const two = (value: number) => String(value).padStart(2, "0");

/** `2026-11-26`. */
export function date(at_ms: number, zone: Zone): string {
  const { year, month, day } = parts(at_ms, zone);
  return `${year}-${two(month)}-${two(day)}`;
}

/** `10:15:07`, with the part of a second where there is one. */
export function clock(at_ms: number, zone: Zone): string {
  const { hour, minute, second, millisecond } = parts(at_ms, zone);
  const rest = millisecond === 0 ? "" : `.${String(millisecond).padStart(3, "0").replace(/0+$/, "")}`;
  return `${two(hour)}:${two(minute)}:${two(second)}${rest}`;
}

/** `2026-11-26 10:15:07`. */
export function dateAndClock(at_ms: number, zone: Zone): string {
  return `${date(at_ms, zone)} ${clock(at_ms, zone)}`;
}

/** A period, with the date once if both ends have the same. */
export function period(from_ms: number, thru_ms: number, zone: Zone): string {
  const end = date(from_ms, zone) === date(thru_ms, zone) ? clock(thru_ms, zone) : dateAndClock(thru_ms, zone);
  return `${dateAndClock(from_ms, zone)} – ${end}`;
}

/** How far a zone is before UTC at a time. */
export function offset_ms(at_ms: number, zone: Zone): number {
  const { year, month, day, hour, minute, second, millisecond } = parts(at_ms, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second, millisecond) - at_ms;
}

/** Labels of an axis: the clock, and the date where the day changes or steps are days. */
export function axisLabels(splits_ms: number[], zone: Zone): string[] {
  const step = splits_ms.length > 1 ? (splits_ms[1] ?? 0) - (splits_ms[0] ?? 0) : 1000;
  let day = "";
  return splits_ms.map((at) => {
    const now = date(at, zone);
    const { hour, minute, second } = parts(at, zone);
    const time = step < 60_000 ? `${two(hour)}:${two(minute)}:${two(second)}` : `${two(hour)}:${two(minute)}`;
    const isNew = now !== day;
    day = now;
    if (step >= 86_400_000 * 28) return now.slice(0, 7);
    if (step >= 86_400_000) return now.slice(5);
    return isNew ? `${time}\n${now}` : time;
  });
}

const STEPS_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
  7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 15_552_000, 31_536_000,
];

/** Round times of a zone within a period, at most `most` of them. */
export function splits(from_ms: number, thru_ms: number, most: number, zone: Zone): number[] {
  const step = (STEPS_S.find((one) => (thru_ms - from_ms) / (one * 1000) <= most) ?? 31_536_000) * 1000;
  const found: number[] = [];
  // Round in the zone: midnight is a split.  The offset of the start serves for all, and a split is
  // moved where the clock was changed in between, if steps are so long that one would see it.
  const shift = offset_ms(Math.floor(from_ms / 1000) * 1000, zone);
  for (let at = Math.ceil((from_ms + shift) / step) * step; at - shift <= thru_ms; at += step) {
    let time = at - shift;
    if (step >= 3_600_000) time -= offset_ms(time, zone) - shift;
    if (time >= from_ms && time <= thru_ms) found.push(time);
  }
  return found;
}

/** What a field for a date and a clock wants: `2026-11-26T10:15:07`. */
export function fieldOf(at_ms: number, zone: Zone): string {
  const { year, month, day, hour, minute, second } = parts(at_ms, zone);
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`;
}

/** The time that such a field says in a zone; `null` if it says none. */
export function ofField(text: string, zone: Zone): number | null {
  const utc = Date.parse(`${text}Z`);
  if (Number.isNaN(utc)) return null;
  // The offset depends on the time that is looked for: the second guess is right but in the hour of a change.
  const guess = utc - offset_ms(utc, zone);
  return utc - offset_ms(guess, zone);
}
