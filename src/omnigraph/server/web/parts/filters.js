/** Conditions on the columns of a type, as chips that can be removed and a line that adds one. */
import { html, useState } from "../vendor/core.js";
import { setParams } from "../state.js";
import { text, typedValue } from "./values.js";

/** @typedef {{column: string, op: string, value?: any}} Condition */

const OPERATORS = /** @type {Record<string, string>} */ ({ eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥", contains: "contains", starts_with: "starts with", is_null: "is null", is_not_null: "is not null" });

/** @type {(type: any) => string[]} */
const columnsOf = (type) => ["id", ...(type.kind === "edge" ? ["src", "dst"] : []), ...type.properties.filter((/** @type {any} */ item) => !["Blob", "Vector"].includes(item.scalar)).map((/** @type {any} */ item) => item.name)];

/** @param {{type: any, where: Condition[]}} props */
export function Filters({ type, where }) {
  const columns = columnsOf(type);
  const [draft, setDraft] = useState({ column: columns[0], op: "eq", text: "" });
  const set = (/** @type {Condition[]} */ next) => setParams({ where: next.length ? JSON.stringify(next) : "", offset: "" });
  const property = type.properties.find((/** @type {any} */ item) => item.name === draft.column);
  const isUnary = draft.op.startsWith("is_");
  function add(/** @type {Event} */ event) {
    event.preventDefault();
    // A condition on a list looks for one item of it.
    const value = isUnary ? {} : { value: property ? typedValue({ ...property, is_list: false }, draft.text) : draft.text };
    set([...where, { column: draft.column, op: draft.op, ...value }]);
    setDraft({ ...draft, text: "" });
  }
  return html`<div class="line">
    ${where.map(
      (item, i) => html`<span class="chip">${item.column} ${OPERATORS[item.op] ?? item.op} ${item.op.startsWith("is_") ? "" : text(item.value)}
        <button aria-label=${`Remove the filter on ${item.column}`} onClick=${() => set(where.filter((_, j) => j !== i))}>✕</button></span>`,
    )}
    <form class="line" onSubmit=${add}>
      <select aria-label="Column" value=${draft.column} onChange=${(/** @type {any} */ event) => setDraft({ ...draft, column: event.target.value })}>
        ${columns.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
      <select aria-label="Operator" value=${draft.op} onChange=${(/** @type {any} */ event) => setDraft({ ...draft, op: event.target.value })}>
        ${Object.entries(OPERATORS).map(([name, sign]) => html`<option value=${name}>${sign}</option>`)}
      </select>
      ${!isUnary &&
      (property?.enum_values
        ? html`<select aria-label="Value" value=${draft.text} onChange=${(/** @type {any} */ event) => setDraft({ ...draft, text: event.target.value })}><option value=""></option>${property.enum_values.map((/** @type {string} */ name) => html`<option value=${name}>${name}</option>`)}</select>`
        : html`<input aria-label="Value" size="12" placeholder=${property?.type ?? "String"} value=${draft.text} onInput=${(/** @type {any} */ event) => setDraft({ ...draft, text: event.target.value })} />`)}
      <button>Add filter</button>
    </form>
  </div>`;
}
