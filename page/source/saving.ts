// Links to the answers of the server as files; of a report, what it has as JSON.

import { get } from "./api";
import { download, h } from "./dom";
import { report } from "./report";

/** Links that save what is asked for: `address` is that of the request, in either form. */
export function savingLinks(name: string, address: (format?: "csv") => string): HTMLElement[] {
  if (report) {
    const save = async () => download(`${name}.json`, new Blob([JSON.stringify(await get(address()), null, 1)], { type: "application/json" }));
    return [h("button", { type: "button", click: () => void save() }, "JSON")];
  }
  return [h("a", { href: address("csv"), download: `${name}.csv` }, "CSV"), h("a", { href: address(), target: "_blank" }, "JSON")];
}
