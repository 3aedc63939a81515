// Colours that people with any colour vision can tell apart (Okabe and Ito), for light and dark, and
// which of the two is shown.

export type Theme = "light" | "dark";

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a7a7a", "#8a7d00"];
const DARK = ["#4aa8e8", "#f0803c", "#2fc79b", "#de9cc3", "#8fd0f5", "#f2b53d", "#a8a8a8", "#e6db4a"];

/** Series that mean the same have the same colour in every chart. */
const FIXED: Record<string, number> = {
  user: 0,
  system: 1,
  nice: 4,
  iowait: 6,
  softirq: 3,
  irq: 7,
  steal: 5,
  read: 0,
  write: 1,
  receive: 0,
  transmit: 1,
  used: 0,
  cached: 4,
  buffers: 2,
  slab: 3,
  free: 6,
  error: 1,
  warning: 5,
  notice: 4,
  info: 0,
  debug: 6,
};

/** The colours of a chart's series, in their order. */
export function colours(ids: string[], theme: Theme): string[] {
  const all = theme === "dark" ? DARK : LIGHT;
  const taken = new Set<number>();
  return ids.map((id) => {
    let index = FIXED[id] ?? -1;
    if (index < 0 || taken.has(index)) {
      index = all.findIndex((_, one) => !taken.has(one));
      if (index < 0) {
        taken.clear();
        index = 0;
      }
    }
    taken.add(index);
    return all[index] ?? "#7a7a7a";
  });
}

const STORED = "whit-theme";

/** What the viewer has chosen, or what the system has. */
export function theme(): Theme {
  const stored = localStorage.getItem(STORED);
  if (stored === "light" || stored === "dark") return stored;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Shows the theme in force. */
export function applyTheme() {
  document.documentElement.dataset["theme"] = theme();
}

/** Chooses the other theme, and keeps that for this browser. */
export function switchTheme() {
  localStorage.setItem(STORED, theme() === "dark" ? "light" : "dark");
  applyTheme();
}

/** A colour of the style sheet. */
export function styled(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
