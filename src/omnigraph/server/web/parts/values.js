/** Values, times, numbers and changes as text. Text of the graph is only ever set as text. */
import { html } from "../vendor/core.js";

const NUMBER = new Intl.NumberFormat("en");
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const STEPS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["year", 31536e6],
  ["month", 2592e6],
  ["day", 864e5],
  ["hour", 36e5],
  ["minute", 6e4],
]);
const ITEMS_SHOWN = 4;
const CHARS_SHOWN = 400;

/** Numbers above 2^53 arrive as text, and stay exact. @type {(value: number | string) => string} */
export function count(value) {
  return NUMBER.format(/** @type {any} */ (typeof value === "string" && /^-?\d+$/.test(value) ? BigInt(value) : Number(value)));
}

/** "1 row", "1,200 rows". @type {(value: number | string, noun: string, several?: string) => string} */
export const counted = (value, noun, several = `${noun}s`) => `${count(value)} ${Number(value) === 1 ? noun : several}`;

/** A list of numbers is a vector: its first items, and how many there are. @type {(value: any[]) => string} */
function listed(value) {
  const isLong = value.length > ITEMS_SHOWN + 2;
  const shown = (isLong ? value.slice(0, ITEMS_SHOWN) : value).map((item) => (typeof item === "number" && isLong ? String(Number(item.toPrecision(4))) : text(item)));
  return `[${shown.join(", ")}${isLong ? `, … ${count(value.length)}` : ""}]`;
}

/** @type {(value: any) => string} */
export function text(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return listed(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @param {{value: any}} props */
export function Value({ value }) {
  if (value === null || value === undefined) return html`<span class="null">null</span>`;
  if (value === "") return html`<span class="null">empty</span>`;
  const shown = text(value);
  const cut = shown.length > CHARS_SHOWN ? `${shown.slice(0, CHARS_SHOWN)}…` : shown;
  const title = shown.length > 40 ? shown.slice(0, 2000) : undefined;
  return html`<span class=${typeof value === "object" ? "mono" : ""} title=${title}>${cut}</span>`;
}

/** True for values that stand at the right of their column. @type {(value: any) => boolean} */
export const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

/** A local time, relative; the exact one in UTC is its title. @param {{micros: number | string}} props */
export function When({ micros }) {
  const then = new Date(Number(micros) / 1000);
  const ago = then.getTime() - Date.now();
  const [unit, size] = STEPS.find(([, step]) => Math.abs(ago) >= step) ?? ["second", 1000];
  const shown = unit === "second" ? "just now" : RELATIVE.format(Math.round(ago / size), unit);
  return html`<time datetime=${then.toISOString()} title=${`${LOCAL.format(then)}\n${then.toISOString()} (UTC)`}>${shown}</time>`;
}

/** The end of a commit id tells commits of one moment apart. @type {(id: string | null | undefined) => string} */
export const short = (id) => (id ? `${id.slice(0, 4)}…${id.slice(-4)}` : "–");

/** A commit by its short id. @param {{id: string}} props */
export const Commit = ({ id }) => html`<code title=${id}>@${short(id)}</code>`;

/** @param {{tables?: any[], counts?: number[]}} props */
export function Changed({ tables = [], counts }) {
  const sum = (/** @type {string} */ name) => tables.reduce((total, table) => total + Number(table[name] ?? 0), 0);
  const [added, changed, removed] = counts ?? [sum("inserted"), sum("updated"), sum("deleted")];
  return html`<span class="changed">
    ${added > 0 && html`<span class="plus" title="inserted">+${count(added)}</span>`}
    ${changed > 0 && html`<span class="tilde" title="updated">~${count(changed)}</span>`}
    ${removed > 0 && html`<span class="minus" title="deleted">−${count(removed)}</span>`}
    ${added + changed + removed === 0 && html`<span class="quiet">no entities</span>`}
  </span>`;
}

/** The name of a table key such as `node:Person`. @type {(key: string) => string} */
export const typeOf = (key) => key.replace(/^(node|edge):/, "");

/** A number, or the text itself where that is none: the server then says what was expected. @type {(text: string) => number | string} */
const numberOf = (text) => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));

/** A text of a field as the value of a type of the schema. Whole numbers of 64 bits stay texts: they would lose digits.
 * @type {(type: {scalar: string, is_list?: boolean, nullable?: boolean}, text: string) => any} */
export function typedValue({ scalar, is_list: isList, nullable }, text) {
  if (text === "" && (nullable || (scalar !== "String" && !isList))) return null;
  if (isList || scalar === "Vector") return JSON.parse(text);
  if (/^(I8|I16|I32|U8|U16|U32|F32|F64)$/.test(scalar)) return numberOf(text);
  if (/^(I64|U64)$/.test(scalar)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  return scalar === "Bool" ? text === "true" : text;
}
