// The processes of a moment: as a list, as a tree, or added up by command, user or control group.

import type { Process } from "./api";
import type { Grouping } from "./address";

/** Processes of one name, added up. */
export interface Group {
  name: string;
  processes: number;
  ended: number;
  cpu_percent: number | null;
  rss_bytes: number | null;
  read_bytes_s: number | null;
  write_bytes_s: number | null;
  received_bytes_s: number | null;
  sent_bytes_s: number | null;
}

/** Whether the network by process was recorded. */
export const hasNetwork = (processes: Process[]) => processes.some((one) => one.received_bytes_s !== undefined);

/** A sum in which a missing value adds nothing; missing if all are. */
export function sum(values: (number | null)[]): number | null {
  return values.reduce((total, value) => (value === null ? total : (total ?? 0) + value), null);
}

const keyOf: Record<Exclude<Grouping, "list" | "tree">, (process: Process) => string | null> = {
  command: (process) => process.command,
  user: (process) => process.user,
  cgroup: (process) => process.cgroup,
};

/** The processes by what they have in common. */
export function grouped(processes: Process[], by: Exclude<Grouping, "list" | "tree">): Group[] {
  const groups = new Map<string, Process[]>();
  for (const process of processes) {
    const key = keyOf[by](process) ?? "unknown";
    const group = groups.get(key);
    if (group) group.push(process);
    else groups.set(key, [process]);
  }
  return [...groups].map(([name, members]) => ({
    name,
    processes: members.length,
    ended: members.filter((one) => one.ended).length,
    cpu_percent: sum(members.map((one) => one.cpu_percent)),
    rss_bytes: sum(members.map((one) => one.rss_bytes)),
    read_bytes_s: sum(members.map((one) => one.read_bytes_s)),
    write_bytes_s: sum(members.map((one) => one.write_bytes_s)),
    received_bytes_s: sum(members.map((one) => one.received_bytes_s ?? null)),
    sent_bytes_s: sum(members.map((one) => one.sent_bytes_s ?? null)),
  }));
}

/** A process and how deep it is in the tree. */
export interface Branch {
  process: Process;
  depth: number;
}

/** Parents before their children; whose parent is not there begins a tree.  Busier children come first. */
export function tree(processes: Process[]): Branch[] {
  const children = new Map<number, Process[]>();
  const known = new Set(processes.map((one) => one.pid));
  const roots: Process[] = [];
  for (const process of processes) {
    const parent = process.parent;
    if (parent === null || parent === process.pid || !known.has(parent)) {
      roots.push(process);
    } else {
      const list = children.get(parent);
      if (list) list.push(process);
      else children.set(parent, [process]);
    }
  }
  const order = (list: Process[]) =>
    list.sort((a, b) => (b.cpu_percent ?? -1) - (a.cpu_percent ?? -1) || a.pid - b.pid);
  const found: Branch[] = [];
  const seen = new Set<Process>();
  // A stack of our own: a chain of processes may be longer than the script's.
  const walk = (starts: Process[]) => {
    const stack = order(starts).reverse().map((process) => ({ process, depth: 0 }));
    for (let next = stack.pop(); next; next = stack.pop()) {
      if (seen.has(next.process)) continue;
      seen.add(next.process);
      found.push(next);
      const depth = next.depth + 1;
      // A number that was used twice within the interval has its children shown once.
      const below = order(children.get(next.process.pid) ?? []);
      for (const process of below.reverse()) stack.push({ process, depth });
    }
  };
  walk(roots);
  // Numbers that were used again may make a circle, which has no root.
  walk(processes.filter((one) => !seen.has(one)));
  return found;
}
