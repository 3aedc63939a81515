// Alerts: the rules and their states, what fires and has fired, and whether receivers took their messages.

import { addressOf, question, type Alert, type AlertMessage, type AlertRule, type Alerts } from "./api";
import { askedOf, type Context } from "./context";
import { filterField, h, isAbort } from "./dom";
import { duration } from "./format";
import { tableOf, type Column } from "./table";
import { dateAndClock } from "./time";

/** How often it asks again. */
const AGAIN_MS = 15_000;

export class AlertsView {
  readonly element = h("div", { class: "alerts" });
  private readonly state = h("p", { class: "state", role: "status" });
  private readonly rules = h("div", { class: "card" });
  private readonly alerts = h("div", { class: "card" });
  private readonly messages = h("div", { class: "card" });
  private found: Alerts | null = null;
  private asked: AbortController | null = null;
  private readonly timer: number;

  constructor(private context: Context) {
    const filter = filterField("Search rules, alerts and messages", context.shown.filter, (text) => this.context.go({ filter: text }, true));
    this.element.append(h("div", { class: "tools" }, filter), this.state, this.alerts, this.rules, this.messages);
    this.timer = window.setInterval(() => {
      if (!document.hidden) this.load();
    }, AGAIN_MS);
  }

  update(context: Context) {
    this.context = context;
    if (this.found === null) this.load();
    this.draw();
  }

  reload() {
    this.load();
  }

  private load() {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    question<Alerts>(addressOf("alerts", { of: askedOf(this.context) }), asked.signal)
      .then((found) => {
        this.found = found;
        this.draw();
        this.context.fine();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) this.context.fail(error, () => this.load());
      });
  }

  /** A column of times. */
  private time<Row>(id: string, label: string, value: (row: Row) => number | null, none: (row: Row) => string): Column<Row> {
    const { zone } = this.context;
    return { id, label, unit: null, value, shown: (row) => ((at) => (at === null ? none(row) : dateAndClock(at, zone)))(value(row)) };
  }

  private draw() {
    if (this.found === null) return;
    const { at_ms, firing, rules, alerts, messages, dropped } = this.found;
    const { shown, go, zone } = this.context;
    const lost = dropped ? ` ${dropped} messages were dropped.` : "";
    const looked = at_ms === null ? "The rules were not looked at yet." : `${firing === 0 ? "No alert fires" : firing === 1 ? "One alert fires" : `${firing} alerts fire`}; looked at ${dateAndClock(at_ms, zone)}.`;
    this.state.textContent = looked + lost;
    const common = { sort: shown.sort, filter: shown.filter, sorted: (sort: string) => go({ sort }, true) };
    this.alerts.replaceChildren(tableOf({ ...common, caption: "Alerts", columns: this.columnsOfAlerts(), rows: alerts, kind: (row) => (row.thru_ms === null ? null : "ended") }));
    this.rules.replaceChildren(tableOf({ ...common, caption: "Rules", columns: this.columnsOfRules(), rows: rules }));
    this.messages.replaceChildren(tableOf({ ...common, caption: "Messages", columns: this.columnsOfMessages(), rows: messages }));
  }

  private columnsOfAlerts(): Column<Alert>[] {
    const { zone, go } = this.context;
    /** Opens the moment at which it began, half an hour on each side. */
    const moment = (row: Alert) => {
      const at_ms = row.from_ms;
      const there = { view: "overview", from_ms: at_ms - 1_800_000, thru_ms: at_ms + 1_800_000, at_ms, filter: "", sort: "", ...(row.host === null ? {} : { host: row.host }) } as const;
      return h("button", { type: "button", click: () => go(there) }, dateAndClock(at_ms, zone));
    };
    return [
      { id: "rule", label: "Rule", unit: null, value: (row) => row.rule },
      { id: "host", label: "Host", unit: null, value: (row) => row.host },
      { id: "labels", label: "Of", unit: null, value: (row) => row.labels },
      { id: "value", label: "Value", unit: "count", value: (row) => row.value },
      { id: "from_ms", label: "Begins", unit: null, value: (row) => row.from_ms, shown: moment },
      this.time("thru_ms", "Ends", (row) => row.thru_ms, (row) => (row.has_data ? "fires" : "fires, no data")),
      { id: "told", label: "Told", unit: null, value: (row) => (row.told ? "yes" : "no") },
    ];
  }

  private columnsOfRules(): Column<AlertRule>[] {
    return [
      { id: "name", label: "Rule", unit: null, value: (row) => row.name },
      { id: "state", label: "State", unit: null, value: (row) => (row.error === null ? row.state : `${row.state}: ${row.error}`) },
      this.time("since_ms", "Since", (row) => row.since_ms, () => "–"),
      { id: "for_ms", label: "For", unit: null, value: (row) => row.for_ms, shown: (row) => (row.for_ms === 0 ? "at once" : duration(row.for_ms)) },
      { id: "when", label: "Condition", unit: null, value: (row) => row.when },
      { id: "to", label: "Tells", unit: null, value: (row) => row.to, shown: (row) => (row.to === "" ? "nobody" : row.to) },
    ];
  }

  private columnsOfMessages(): Column<AlertMessage>[] {
    return [
      this.time("at_ms", "Made", (row) => row.at_ms, () => "–"),
      { id: "subject", label: "Message", unit: null, value: (row) => row.subject },
      { id: "to", label: "To", unit: null, value: (row) => row.to },
      this.time("taken_ms", "Taken", (row) => row.taken_ms, (row) => (row.error === null ? "waits" : `no: ${row.error}`)),
      { id: "tries", label: "Tries", unit: "count", value: (row) => row.tries },
    ];
  }

  end() {
    this.asked?.abort();
    window.clearInterval(this.timer);
  }
}
