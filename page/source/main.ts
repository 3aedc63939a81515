// The page: its head, the ruler, a view, the moment beside it; addresses, keys, and the connection.

import "uplot/dist/uPlot.min.css";
import { HOUR_MS, parse, PERIOD_MS_MIN, query, type Shown } from "./address";
import * as api from "./api";
import type { ChartInfo, Host, LiveSample, Period, Spike } from "./api";
import { applyTheme, switchTheme, theme } from "./colour";
import type { Context } from "./context";
import { choice, h, isAbort } from "./dom";
import { duration } from "./format";
import { MomentView } from "./moment";
import { Ruler, spoken } from "./ruler";
import { PartsStrip } from "./parts";
import { report } from "./report";
import { dateAndClock, isZone, period as periodText, zoneOf, type ZoneChoice } from "./time";
import { offered, type PageView } from "./views";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * HOUR_MS;
/** Lengths of periods to choose from. */
const LENGTHS: [number, string][] = [
  [MINUTE_MS, "1 min"],
  [10 * MINUTE_MS, "10 min"],
  [HOUR_MS, "1 h"],
  [6 * HOUR_MS, "6 h"],
  [DAY_MS, "1 day"],
  [7 * DAY_MS, "1 week"],
  [31 * DAY_MS, "1 month"],
  [366 * DAY_MS, "1 year"],
];
/** How often a page that follows asks for the ruler again. */
const RULER_MS = 30_000;
/** How long a gesture must rest before the server is asked. */
const REST_MS = 80;
/** Steps of the ruler: more than its pixels say nothing. */
const RULER_POINTS = 1000;
const SPIKES_LISTED = 20;

class Page {
  private shown = parse(location.search);
  private hosts: Host[] = [];
  private host: Host | null = null;
  private infos: ChartInfo[] = [];
  private newest_ms = 0;
  private view: PageView | null = null;
  /** Those of this server, and those of the one that has the host on screen. */
  private ownSections: string[] = [];
  private sections: string[] = [];
  private viewKey = "";
  private moment: MomentView | null = null;
  private live: { end: () => void } | null = null;
  private liveKey = "";
  private restTimer = 0;
  private lastMove_ms = 0;
  private rulerTimer = 0;
  private spikeKey = "";
  private retryTimer = 0;
  private failures = 0;
  private again = new Set<() => void>();

  private readonly ruler = new Ruler({
    zoom: (from, thru) => this.zoom(from, thru),
    open: (spike) => this.openSpike(spike),
    move: (factor, about, share) => this.move(factor, about, share),
  });
  private readonly spikes = h("details", { class: "spikes" });
  private readonly bar = h("section", { class: "bar-of-periods", "aria-label": "Period" });
  private readonly head = h("header", { class: "top" });
  private readonly error = h("div", { class: "error", role: "alert", hidden: true });
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly about = h("section", { class: "sums", "aria-label": "About this report", hidden: report === null });
  private readonly unreachable = h("section", { class: "sums unreachable", "aria-label": "Hosts that do not answer", hidden: true });
  private readonly strip = new PartsStrip();
  private readonly main = h("main", { id: "main" });

  constructor(root: HTMLElement) {
    root.append(h("a", { class: "skip", href: "#main" }, "To the charts"), this.head, this.error, this.ruler.element, this.bar, this.about, this.unreachable, this.strip.element, this.main);
    this.ruler.element.append(this.spikes);
    addEventListener("popstate", () => this.arrive(parse(location.search)));
    addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    // A page in the background is stopped by the browser: what it missed is asked for again.
    addEventListener("pageshow", (event) => event.persisted && this.start());
    document.addEventListener("click", (event) => closeMenus(event.target as Node));
    void this.start();
  }

  /** Asks for the hosts; everything else follows. */
  private async start() {
    try {
      const [found, has] = await Promise.all([api.hosts(), api.sections(null)]);
      this.hosts = found.hosts;
      this.ownSections = has;
      this.sections = has;
      this.drawUnreachable(found.unreachable ?? []);
      if (found.hosts.length === 0) {
        this.main.replaceChildren(h("p", { class: "missing" }, "Nothing is recorded yet. `whit record -f FOLDER` records this machine."));
        this.drawHead();
        setTimeout(() => void this.start(), 5000);
        return;
      }
      await this.chooseHost();
      this.fine();
    } catch (error) {
      this.fail(error, () => void this.start());
    }
  }

  private drawUnreachable(hosts: api.Unreachable[]) {
    const one = ({ host, url, since_ms, why }: api.Unreachable) => h("div", {}, `${host} (${url}) does not answer since ${dateAndClock(since_ms, this.zone)}: ${why}`);
    this.unreachable.replaceChildren(...hosts.map(one));
    this.unreachable.hidden = hosts.length === 0;
  }

  private async chooseHost() {
    const host = this.hosts.find((one) => one.host === this.shown.host) ?? this.hosts[0];
    if (!host) return;
    if (this.shown.host !== null && host.host !== this.shown.host) {
      this.fail(new Error(`There is no host “${this.shown.host}”: this is ${host.host}`), () => undefined);
    }
    this.host = host;
    this.newest_ms = host.thru_ms;
    // A report shows all of its period first.
    if (report && this.shown.from_ms === null) this.shown = { ...this.shown, from_ms: host.from_ms, thru_ms: host.thru_ms };
    const [infos, sections] = await Promise.all([api.charts(host.host), host.server ? api.sections(host.server) : this.ownSections]);
    this.infos = infos.charts;
    this.sections = sections;
    this.viewKey = "";
    this.moment?.element.remove();
    this.moment = null;
    this.apply();
    void this.loadRuler();
  }

  private get period(): Period {
    const { from_ms, thru_ms, last_ms } = this.shown;
    if (from_ms !== null && thru_ms !== null) return { from_ms, thru_ms };
    const first = Math.min(this.host?.from_ms ?? 0, this.newest_ms - MINUTE_MS);
    return { from_ms: Math.max(this.newest_ms - last_ms, first), thru_ms: this.newest_ms };
  }

  private get zone() {
    return zoneOf(this.shown.zone, this.host?.timezone);
  }

  private context(host: Host): Context {
    return {
      shown: this.shown,
      host,
      infos: this.infos,
      zone: this.zone,
      sections: this.sections,
      period: this.period,
      go: (change, replace) => this.go(change, replace),
      move: (factor, about, share) => this.move(factor, about, share),
      fail: (error, again) => this.fail(error, again),
      fine: () => this.fine(),
    };
  }

  private go(change: Partial<Shown>, replace = false) {
    this.shown = { ...this.shown, ...change };
    const address = `${location.pathname}${query(this.shown)}`;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.apply();
  }

  /** The browser went back or forward. */
  private arrive(shown: Shown) {
    const isOther = shown.host !== this.shown.host;
    this.shown = shown;
    if (isOther) void this.chooseHost().catch((error: unknown) => this.fail(error, () => void this.start()));
    else this.apply();
  }

  /** Shows what `shown` says. */
  private apply() {
    const { host } = this;
    if (!host) return;
    const context = this.context(host);
    const views = offered(this.sections, this.hosts.length);
    const info = views.find((view) => view.id === this.shown.view) ?? views[0];
    if (!info) return;
    if (info.id !== this.shown.view) this.shown = { ...this.shown, view: info.id };
    if (this.ownSections.includes("parts")) this.strip.start(this.zone);
    const key = `${host.host} ${info.id}`;
    if (!this.moment) this.moment = new MomentView(context);
    if (key !== this.viewKey) {
      this.viewKey = key;
      this.view?.end();
      this.view = info.create(context);
      this.main.replaceChildren(this.moment.element, this.view.element);
    }
    this.main.classList.toggle("has-moment", this.shown.at_ms !== null);
    this.drawHead();
    this.drawBar();
    this.view?.update(context);
    this.moment.update(context);
    this.ruler.show(this.period, this.zone);
    this.follow();
    void this.loadSpikes();
    document.title = `${host.host}, ${periodText(this.period.from_ms, this.period.thru_ms, this.zone)}: whit`;
  }

  // --- Live -----------------------------------------------------------------------------------

  /** Listens to new samples as long as the page follows them. */
  private follow() {
    const host = this.host;
    const follows = host?.is_live && this.shown.from_ms === null && this.view?.live !== undefined;
    const key = follows ? host.host : "";
    if (key === this.liveKey) return;
    this.liveKey = key;
    this.live?.end();
    this.live = null;
    clearInterval(this.rulerTimer);
    if (!host || !follows) {
      this.status.textContent = "";
      return;
    }
    this.missed = false;
    this.live = api.live(
      host.host,
      this.infos.map((info) => info.id),
      (sample) => this.sample(sample),
      (isConnected) => {
        this.status.textContent = isConnected ? "live" : "connection lost: trying again";
        this.status.classList.toggle("lost", !isConnected);
        // What was recorded since the curves were asked for is asked for with the first sample.
        if (isConnected) this.missed = true;
      },
    );
    this.rulerTimer = window.setInterval(() => void this.loadRuler(), RULER_MS);
  }

  /** What was recorded while nobody listened: asked for up to the newest sample. */
  private catchUp() {
    this.missed = false;
    if (!this.view?.reload || !this.host) return;
    this.view.update(this.context(this.host));
    this.view.reload();
  }

  private sample(sample: LiveSample) {
    if (!this.host || this.shown.from_ms !== null) return;
    this.newest_ms = Math.max(this.newest_ms, sample.at_ms);
    if (document.hidden) {
      this.missed = true;
      return;
    }
    this.view?.live?.(this.context(this.host), sample);
    if (this.missed) this.catchUp();
    // Samples that come together, as after a pause, are drawn once.
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.host || this.shown.from_ms !== null) return;
      this.view?.drawLive?.(this.context(this.host));
      this.ruler.show(this.period, this.zone);
    });
  }

  private missed = false;
  private frame = 0;

  // --- The ruler and spikes -------------------------------------------------------------------

  private async loadRuler() {
    const { host } = this;
    if (!host) return;
    try {
      const data = await api.ruler(host.host, null, RULER_POINTS);
      this.ruler.show(this.period, this.zone, data);
    } catch (error) {
      if (!isAbort(error)) this.fail(error, () => void this.loadRuler());
    }
  }

  /** Lists the spikes of the period: what the marks of the ruler say, for everybody. */
  private async loadSpikes() {
    const { host, period } = this;
    if (!host) return;
    // A page that follows asks once a minute.
    const key = JSON.stringify([host.host, Math.round(period.from_ms / MINUTE_MS), Math.round(period.thru_ms / MINUTE_MS), this.zone.name]);
    if (key === this.spikeKey) return;
    this.spikeKey = key;
    try {
      const { spikes } = await api.ruler(host.host, period, RULER_POINTS);
      if (key !== this.spikeKey) return;
      const items = spikes.slice(0, SPIKES_LISTED).map((spike) => h("li", {}, h("button", { type: "button", click: () => this.openSpike(spike) }, spoken(spike, this.zone))));
      const rest = spikes.length > SPIKES_LISTED ? ` (the first ${SPIKES_LISTED} listed: zoom in for the others)` : "";
      const count = spikes.length === 1 ? "1 spike" : `${spikes.length} spikes`;
      this.spikes.replaceChildren(h("summary", {}, `${count} in this period${rest}`), h("ul", {}, ...items));
    } catch (error) {
      if (!isAbort(error)) this.fail(error, () => void this.loadSpikes());
    }
  }

  private openSpike(spike: Spike) {
    const { period } = this;
    const isShown = spike.at_ms >= period.from_ms && spike.at_ms <= period.thru_ms;
    const around = 5 * MINUTE_MS;
    const place = isShown ? {} : { from_ms: spike.at_ms - around, thru_ms: spike.at_ms + around };
    this.go({ at_ms: Math.round(spike.at_ms), ...place });
  }

  // --- Moving in time -------------------------------------------------------------------------

  private zoom(from_ms: number, thru_ms: number) {
    const recorded = this.recorded();
    const length = Math.max(thru_ms - from_ms, PERIOD_MS_MIN);
    const from = Math.min(Math.max(from_ms, recorded.from_ms - length / 2), recorded.thru_ms - length / 2);
    this.go({ from_ms: Math.round(from), thru_ms: Math.round(from + length) });
  }

  private recorded(): Period {
    return { from_ms: this.host?.from_ms ?? 0, thru_ms: Math.max(this.newest_ms, (this.host?.from_ms ?? 0) + PERIOD_MS_MIN) };
  }

  /** A gesture: the curves follow at once, and the server is asked when it rests. */
  private move(factor: number, about_ms: number, share: number) {
    const { from_ms, thru_ms } = this.period;
    const recorded = this.recorded();
    const longest = Math.max((recorded.thru_ms - recorded.from_ms) * 1.1, 2 * MINUTE_MS);
    const length = Math.min(Math.max((thru_ms - from_ms) * factor, PERIOD_MS_MIN), longest);
    const place = thru_ms > from_ms ? (about_ms - from_ms) / (thru_ms - from_ms) : 0.5;
    const wanted = about_ms - place * length + share * length;
    const from = Math.min(Math.max(wanted, recorded.from_ms - length / 2), recorded.thru_ms - length / 2);
    // One step of the browser's history for one gesture.
    const now = performance.now();
    const isSame = now - this.lastMove_ms < 1000;
    this.lastMove_ms = now;
    this.shown = { ...this.shown, from_ms: Math.round(from), thru_ms: Math.round(from + length) };
    const address = `${location.pathname}${query(this.shown)}`;
    if (isSame) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.follow();
    this.ruler.show(this.period, this.zone);
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => this.apply(), REST_MS);
  }

  private key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea") && event.key !== "Escape") return;
    if (event.ctrlKey || event.metaKey || event.altKey || !this.host) return;
    const { from_ms, thru_ms } = this.period;
    const middle = this.shown.at_ms ?? (from_ms + thru_ms) / 2;
    const length = thru_ms - from_ms;
    const recorded = this.recorded();
    const inScroll = target.closest(".scroll") !== null;
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight":
        if (inScroll) return;
        this.move(1, middle, event.key === "ArrowLeft" ? -0.25 : 0.25);
        break;
      case "+":
      case "=":
        this.move(0.5, middle, 0);
        break;
      case "-":
        this.move(2, middle, 0);
        break;
      case "Home":
        if (inScroll) return;
        this.go({ from_ms: Math.round(recorded.from_ms), thru_ms: Math.round(recorded.from_ms + length) });
        break;
      case "End":
        if (inScroll) return;
        this.go({ from_ms: null, thru_ms: null, last_ms: Math.round(length) });
        break;
      case "Escape":
        if (closeMenus(null)) break;
        if (this.shown.at_ms !== null) this.go({ at_ms: null });
        else if (this.shown.from_ms !== null) this.go({ from_ms: null, thru_ms: null });
        break;
      case "[":
      case "]":
        if (this.shown.at_ms !== null) this.moment?.step(event.key === "[" ? -1 : 1);
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  // --- Head, bar, errors ----------------------------------------------------------------------

  private drawHead() {
    const links = offered(this.sections, this.hosts.length).map(({ id: view, title, isFixed }) => {
      const isHere = this.shown.view === view;
      const follow = (event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        if (!isHere) this.go({ view, sort: "", record: "", ...(isFixed ? this.period : {}) });
      };
      return h("a", { href: query({ ...this.shown, view }) || "?", "aria-current": isHere ? "page" : null, click: follow }, title);
    });
    const viewer = zoneOf("viewer", null).name;
    const zones: [ZoneChoice, string][] = [["viewer", `mine (${viewer})`]];
    if (isZone(this.host?.timezone)) zones.push(["machine", `the machine's (${this.host?.timezone})`]);
    zones.push(["utc", "UTC"]);
    const tools: HTMLElement[] = [];
    if (this.hosts.length > 1) {
      tools.push(choice("host", this.hosts.map((one) => [one.host, one.host]), this.host?.host ?? "", (host) => this.changeHost(host)));
    }
    tools.push(choice("times", zones, this.zone.choice, (zone) => this.go({ zone: zone as ZoneChoice })));
    const other = theme() === "dark" ? "light" : "dark";
    tools.push(
      h("button", { type: "button", "aria-label": `Show the page ${other}`, click: () => (switchTheme(), this.recolour()) }, other === "dark" ? "Dark" : "Light"),
    );
    const { host } = this;
    const about = host ? [host.kernel, host.cpus === null ? null : `${host.cpus} CPUs`].filter((one) => one !== null).join(", ") : "";
    const key = JSON.stringify([this.shown, this.hosts.length, host?.host, theme()]);
    if (this.head.dataset["key"] === key) return;
    this.head.dataset["key"] = key;
    const focused = (document.activeElement as HTMLElement | null)?.closest("header.top") ? [...this.head.querySelectorAll("a, select, button")].indexOf(document.activeElement as Element) : -1;
    this.head.replaceChildren(h("h1", {}, host?.host ?? "whit"), h("span", { class: "about" }, about), h("nav", { "aria-label": "Views" }, ...links), this.status, h("div", { class: "tools" }, ...tools));
    if (focused >= 0) (this.head.querySelectorAll("a, select, button")[focused] as HTMLElement | undefined)?.focus();
  }

  private changeHost(name: string) {
    this.shown = { ...this.shown, host: name, at_ms: null, record: "", instances: {} };
    history.pushState(null, "", `${location.pathname}${query(this.shown)}`);
    void this.chooseHost().catch((error: unknown) => this.fail(error, () => void this.start()));
  }

  private drawBar() {
    const { period, zone } = this;
    const follows = this.shown.from_ms === null;
    const length = period.thru_ms - period.from_ms;
    const recorded = this.recorded();
    const button = (label: string, text: string, work: () => void) => h("button", { type: "button", "aria-label": label, title: label, click: work }, text);
    const pressed = follows ? this.shown.last_ms : length;
    const middle = this.shown.at_ms ?? (period.from_ms + period.thru_ms) / 2;
    const lengths = LENGTHS.filter((_, index) => index < 3 || (LENGTHS[index - 1]?.[0] ?? 0) < recorded.thru_ms - recorded.from_ms);
    const fitting = lengths.map(([one, name]) =>
      h("button", { type: "button", "aria-pressed": Math.abs(pressed - one) < 1000 ? "true" : "false", click: () => this.length(one) }, name),
    );
    const focused = this.bar.contains(document.activeElement) ? [...this.bar.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement) : -1;
    const end = follows ? (this.host?.is_live ? "now" : "the end") : "";
    this.bar.replaceChildren(
      h("div", { class: "buttons", role: "group", "aria-label": "Length of the period" }, ...fitting, h("button", { type: "button", click: () => this.go({ from_ms: Math.round(recorded.from_ms), thru_ms: Math.round(recorded.thru_ms) }) }, "all")),
      h(
        "div",
        { class: "buttons", role: "group", "aria-label": "Move" },
        button("Earlier (left arrow)", "←", () => this.move(1, middle, -0.25)),
        button("Later (right arrow)", "→", () => this.move(1, middle, 0.25)),
        button("Closer (+)", "+", () => this.move(0.5, middle, 0)),
        button("Farther (-)", "−", () => this.move(2, middle, 0)),
        h("button", { type: "button", "aria-pressed": follows ? "true" : "false", title: "Follow the newest sample (End)", click: () => this.go({ from_ms: null, thru_ms: null }) }, this.host?.is_live ? "live" : "newest"),
      ),
      h("span", { class: "period" }, follows ? `the last ${duration(this.shown.last_ms)} until ${end}, ${zone.name}` : `${periodText(period.from_ms, period.thru_ms, zone)} ${zone.name} (${duration(length)})`),
    );
    if (focused >= 0) this.bar.querySelectorAll("button")[focused]?.focus();
    this.drawAbout();
  }

  /** What a report is, and what is in it. */
  private drawAbout() {
    if (!report || !this.host) return;
    const samples = report.is_coarse ? ", single samples around the spikes" : "";
    const made = dateAndClock(report.made_ms - (report.made_ms % 1000), this.zone);
    this.about.textContent = `A report made ${made}: curves in steps of ${duration(report.step_ms)}${samples}, and ${report.moments} moments with their processes. What else was recorded is not in it.`;
  }

  /** Another length about the middle, or up to the newest sample. */
  private length(length: number) {
    if (this.shown.from_ms === null) return this.go({ last_ms: length });
    const { from_ms, thru_ms } = this.period;
    const middle = this.shown.at_ms ?? (from_ms + thru_ms) / 2;
    this.zoom(middle - length / 2, middle + length / 2);
  }

  private recolour() {
    applyTheme();
    this.apply();
    this.ruler.show(this.period, this.zone);
  }

  private fail(error: unknown, again: () => void) {
    const said = error instanceof Error ? error.message : String(error);
    const isLost = error instanceof api.ConnectionError;
    this.error.replaceChildren(
      h("span", {}, isLost ? `${said}: trying again` : said),
      h("button", { type: "button", "aria-label": "Close this message", click: () => this.fine() }, "✕"),
    );
    this.error.hidden = false;
    if (!isLost) return;
    this.again.add(again);
    this.failures += 1;
    clearTimeout(this.retryTimer);
    this.retryTimer = window.setTimeout(() => {
      const all = [...this.again];
      this.again.clear();
      for (const one of all) one();
    }, api.pause_ms(this.failures));
  }

  private fine() {
    // What is still to be tried again is not well.
    if (this.again.size > 0) return;
    this.failures = 0;
    this.error.hidden = true;
  }
}

/** Closes open menus but the one that was clicked in; says whether there was one. */
function closeMenus(within: Node | null): boolean {
  let found = false;
  for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
    if (within && menu.contains(within)) continue;
    menu.open = false;
    found = true;
  }
  return found;
}

applyTheme();
const root = document.getElementById("page");
if (root) new Page(root);
