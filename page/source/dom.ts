// Elements without a framework.  Text is always a text node: no name of a process becomes markup.

type Child = Node | string | null | false;
type Properties = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

function fill(element: Element, properties: Properties, children: Child[]) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name, value as unknown as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) if (child !== null && child !== false) element.append(child);
}

/** An element: attributes by name, listeners as functions. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  fill(element, properties, children);
  return element;
}

/** An element of a picture. */
export function s(tag: string, properties: Properties = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, properties, children);
  return element;
}

/** A choice of one of some values. */
export function choice(
  label: string,
  options: [value: string, text: string][],
  value: string,
  chosen: (value: string) => void,
): HTMLElement {
  const select = h("select", { "aria-label": label, change: () => chosen(select.value) });
  for (const [option, text] of options) select.append(h("option", { value: option }, text));
  select.value = value;
  return h("label", { class: "choice" }, h("span", { "aria-hidden": "true" }, label), select);
}

/** How long typing must rest before what was typed is looked for. */
const TYPED_MS = 150;

/** A field to search with. */
export function filterField(label: string, value: string, typed: (text: string) => void): HTMLElement {
  let timer = 0;
  const field = h("input", { type: "search", value, placeholder: label, "aria-label": label });
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => typed(field.value), TYPED_MS);
  });
  return field;
}

/** Hands a file to the viewer. */
export function download(name: string, data: Blob) {
  const address = URL.createObjectURL(data);
  // This click is nobody's: an open menu stays open.
  const link = h("a", { href: address, download: name, click: (event: Event) => event.stopPropagation() });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has taken the address by the end of this turn of its loop.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

/** What the page has gone on to hear when it was asked something later. */
export const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";
