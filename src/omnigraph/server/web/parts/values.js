/** Values, times, numbers and changes as text. Text of the graph is only ever set as text. */
import { html } from "../vendor/core.js";

const NUMBER = new Intl.NumberFormat();
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const STEPS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["year", 31536e6],
  ["month", 2592e6],
  ["day", 864e5],
  ["hour", 36e5],
  ["minute", 6e4],
]);

/** @type {(value: number | string) => string} */
export const count = (value) => NUMBER.format(Number(value));

/** @type {(value: any) => string} */
export function text(value) {
  if (value === null || value === undefined) return "∅";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @param {{value: any}} props */
export function Value({ value }) {
  if (value === null || value === undefined) return html`<span class="quiet" title="null">∅</span>`;
  return html`<span class=${typeof value === "number" ? "number" : ""}>${text(value)}</span>`;
}

/** A local time, relative; the exact one in UTC is its title. @param {{micros: number | string}} props */
export function When({ micros }) {
  const then = new Date(Number(micros) / 1000);
  const ago = then.getTime() - Date.now();
  const [unit, size] = STEPS.find(([, step]) => Math.abs(ago) >= step) ?? ["second", 1000];
  const shown = unit === "second" ? "just now" : RELATIVE.format(Math.round(ago / size), unit);
  const title = `${then.toLocaleString()} (${then.toISOString()})`;
  return html`<time datetime=${then.toISOString()} title=${title}>${shown}</time>`;
}

/** The end of a commit id tells commits of one moment apart. @type {(id: string | null | undefined) => string} */
export const short = (id) => (id ? `${id.slice(0, 4)}…${id.slice(-4)}` : "–");

/** Counts of changes, by sign and colour. @param {{tables?: any[], counts?: number[]}} props */
export function Changed({ tables = [], counts }) {
  const sum = (/** @type {string} */ name) => tables.reduce((total, table) => total + Number(table[name] ?? 0), 0);
  const [added, changed, removed] = counts ?? [sum("inserted"), sum("updated"), sum("deleted")];
  return html`<span class="changed">
    ${added > 0 && html`<span class="plus" title="inserted">+${count(added)}</span>`}
    ${changed > 0 && html`<span class="tilde" title="updated">~${count(changed)}</span>`}
    ${removed > 0 && html`<span class="minus" title="deleted">-${count(removed)}</span>`}
    ${added + changed + removed === 0 && html`<span class="quiet">no rows</span>`}
  </span>`;
}

/** The name of a table key such as `node:Person`. @type {(key: string) => string} */
export const typeOf = (key) => key.replace(/^(node|edge):/, "");
