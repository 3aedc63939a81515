// The views of the page: a new one is a file, a word in `address.ts` and a line here.

import type { View } from "./address";
import { AlertsView } from "./alerts";
import type { LiveSample } from "./api";
import { CompareView } from "./compare";
import type { Context } from "./context";
import { CostView } from "./cost";
import { DatabasesView } from "./databases";
import { DevicesView } from "./devices";
import { HostsView } from "./hosts";
import { LogsView } from "./logs";
import { Overview } from "./overview";

/** What a view shows below the ruler. */
export interface PageView {
  readonly element: HTMLElement;
  /** Shows what the context says; asks the server only for what is not there yet. */
  update(context: Context): void;
  /** Ends its questions. */
  end(): void;
  /** Takes a new sample, while the page follows the newest one. */
  live?(context: Context, sample: LiveSample): void;
  /** Draws the samples taken. */
  drawLive?(context: Context): void;
  /** Asks for everything again. */
  reload?(): void;
}

interface ViewInfo {
  id: View;
  title: string;
  /** The section of the server that it needs; without it the view is not offered. */
  section?: string;
  /** Whether it needs a fixed period. */
  isFixed?: boolean;
  /** Whether it needs several hosts. */
  isOfSeveral?: boolean;
  create: (context: Context) => PageView;
}

export const VIEWS: readonly ViewInfo[] = [
  { id: "overview", title: "Overview", create: (context) => new Overview(context) },
  { id: "compare", title: "Compare", isFixed: true, create: (context) => new CompareView(context) },
  { id: "hosts", title: "Hosts", isOfSeveral: true, create: (context) => new HostsView(context) },
  { id: "logs", title: "Logs", section: "logs", create: (context) => new LogsView(context) },
  { id: "devices", title: "Devices", section: "devices", create: (context) => new DevicesView(context) },
  { id: "databases", title: "Databases", section: "databases", create: (context) => new DatabasesView(context) },
  { id: "alerts", title: "Alerts", section: "alerts", create: (context) => new AlertsView(context) },
  { id: "cost", title: "Cost", section: "parts", create: (context) => new CostView(context) },
];

/** The views that a server with these sections and so many hosts has. */
export const offered = (sections: readonly string[], hosts: number): ViewInfo[] =>
  VIEWS.filter((view) => (view.section === undefined || sections.includes(view.section)) && (hosts > 1 || !view.isOfSeveral));
