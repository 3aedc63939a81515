// The same moment on all hosts: what each used, and the heaviest processes of each, side by side.

import { RESOURCES, type Resource } from "./address";
import * as api from "./api";
import type { Host, Period } from "./api";
import type { Context } from "./context";
import { choice, h, isAbort } from "./dom";
import { formatted } from "./format";
import { savingLinks } from "./saving";
import { dateAndClock } from "./time";

/** The minute that ends with the moment. */
const LENGTH_MS = 60_000;
const HEAVIEST = 5;
/** Hosts that are asked at the same time. */
const AT_ONCE = 6;
/** How often a page that follows asks again. */
const AGAIN_MS = 15_000;
const NAMED: Record<Resource, string> = { cpu: "CPU", memory: "memory", read: "reads", write: "writes" };

export class HostsView {
  readonly element = h("div", { class: "hosts" });
  private readonly bar = h("div", { class: "tools" });
  private readonly grid = h("div", { class: "grid" });
  private asked: AbortController | null = null;
  private key = "";
  private readonly timer: number;

  constructor(private context: Context) {
    this.element.append(this.bar, this.grid);
    this.timer = window.setInterval(() => {
      if (this.context.shown.at_ms === null && this.context.shown.from_ms === null && !document.hidden) this.reload();
    }, AGAIN_MS);
  }

  update(context: Context) {
    this.context = context;
    const { shown, period, zone } = context;
    const follows = shown.at_ms === null && shown.from_ms === null;
    const key = JSON.stringify([shown.at_ms ?? (follows ? null : period.thru_ms), shown.what, zone.name]);
    if (key === this.key) return;
    this.key = key;
    this.reload();
  }

  /** The moment: the one that is open, else the end of the period; of a page that follows each host's newest. */
  private minute(host: Host): Period {
    const { shown, period } = this.context;
    const at_ms = shown.at_ms ?? (shown.from_ms === null ? host.thru_ms : period.thru_ms);
    return { from_ms: at_ms - LENGTH_MS, thru_ms: at_ms };
  }

  reload() {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const work = async () => {
      const { hosts } = await api.hosts(asked.signal);
      this.drawBar();
      const places = hosts.map((host) => ({ host, place: h("section", { class: "card heaviest", "aria-label": host.host }, h("p", {}, host.host)) }));
      const filled = this.grid.childElementCount === places.length;
      if (!filled) this.grid.replaceChildren(...places.map(({ place }) => place));
      let next = 0;
      const worker = async () => {
        for (;;) {
          const number = next;
          next += 1;
          const one = places[number];
          if (!one) return;
          const card = await this.card(one.host, asked.signal);
          this.grid.children[number]?.replaceWith(card);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      this.context.fine();
    };
    work().catch((error: unknown) => {
      if (!isAbort(error)) this.context.fail(error, () => this.reload());
    });
  }

  private drawBar() {
    const { shown, go, zone } = this.context;
    const at = shown.at_ms ?? (shown.from_ms === null ? null : this.context.period.thru_ms);
    const said = at === null ? "The newest minute of each host" : `The minute up to ${dateAndClock(at, zone)}`;
    this.bar.replaceChildren(
      choice("by", RESOURCES.map((one) => [one, NAMED[one]]), shown.what, (value) => go({ what: value as Resource })),
      h("span", { role: "status" }, said),
    );
  }

  /** A host: one that cannot be asked, or has nothing then, says so. */
  private async card(host: Host, signal: AbortSignal): Promise<HTMLElement> {
    const { shown, go } = this.context;
    const minute = this.minute(host);
    const there = { view: "overview", host: host.host, from_ms: minute.thru_ms - 1_800_000, thru_ms: minute.thru_ms + 1_800_000, at_ms: minute.thru_ms } as const;
    const name = h("button", { type: "button", click: () => go(there) }, host.host);
    let found: api.Heaviest | null = null;
    let why = "";
    try {
      found = await api.heaviest(host.host, minute, shown.what, "command", HEAVIEST, signal);
      if (found.rows.length === 0) why = "No process is recorded in this minute.";
    } catch (error) {
      if (isAbort(error)) throw error;
      why = error instanceof Error ? error.message : String(error);
    }
    const address = (format?: "csv") => api.heaviestAddress(host.host, minute, shown.what, "command", 1000, format);
    const rows = (found?.rows ?? []).map((row) => h("tr", {}, h("td", { class: "text" }, row.name), h("td", { class: "number" }, formatted(row.value, found?.unit ?? "count")), h("td", { class: "number plain" }, String(row.processes ?? ""))));
    const total = found === null || why !== "" ? "" : ` ${formatted(found.total, found.unit)} of all processes`;
    const heads = h("tr", {}, h("th", { scope: "col", class: "text" }, "command"), h("th", { scope: "col", class: "number" }, NAMED[shown.what]), h("th", { scope: "col", class: "number" }, "processes"));
    return h(
      "section",
      { class: "card heaviest", "aria-label": host.host },
      h("h2", {}, name),
      h("div", { class: "tools" }, h("span", {}, total), ...savingLinks("heaviest", address)),
      why === "" ? h("table", {}, h("thead", {}, heads), h("tbody", {}, ...rows)) : h("p", { class: "missing" }, why),
    );
  }

  end() {
    this.asked?.abort();
    window.clearInterval(this.timer);
  }
}
