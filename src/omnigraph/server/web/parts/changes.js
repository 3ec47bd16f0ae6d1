/** Changes of entities as a list by type: sign, id, and the values before and after. */
import { html } from "../vendor/core.js";
import { count, text } from "./values.js";

export const SIGNS = { insert: "+", update: "~", delete: "-" };
const CLASSES = { insert: "plus", update: "tilde", delete: "minus" };
const WORDS = { insert: "inserted", update: "updated", delete: "deleted" };
const SHOWN_MAX = 300;

/** The node at an end of an edge: an id, or a type and an id where edges have ends of several types. */
const endText = (end) => (typeof end === "object" ? `${end.type}:${end.id}` : end);

/** @param {{change: any}} props */
function Change({ change }) {
  const side = change.after ?? change.before;
  const ends = side.endpoints;
  const differs = (name) => text(change.before.properties[name]) !== text(change.after.properties[name]);
  const cells = change.op === "update" ? change.changed ?? Object.keys(side.properties).filter(differs) : [];
  return html`<li>
    <strong class=${CLASSES[change.op]} title=${WORDS[change.op]}>${SIGNS[change.op]}</strong> ${" "}
    ${ends ? html`${endText(ends.from)} → ${endText(ends.to)} <span class="quiet">${change.id}</span>` : change.id}
    ${cells.length > 0 &&
    html`<div class="cells">
      ${cells.map((name) => html`<span class="quiet">${name}</span><span><del>${text(change.before.properties[name])}</del> → <ins>${text(change.after.properties[name])}</ins></span>`)}
    </div>`}
  </li>`;
}

/** @param {{changes: any[], total?: number}} props */
export function Changes({ changes, total }) {
  const shown = changes.slice(0, SHOWN_MAX);
  const types = new Map();
  for (const change of shown) types.set(change.type.name, [...(types.get(change.type.name) ?? []), change]);
  const all = total ?? changes.length;
  return html`
    ${[...types].map(
      ([name, items]) => html`<details open>
        <summary><strong>${name}</strong> <span class="quiet">${count(items.length)}</span></summary>
        <ul class="changes">${items.map((change) => html`<${Change} key=${change.id} change=${change} />`)}</ul>
      </details>`,
    )}
    ${all > shown.length && html`<p class="quiet">${count(shown.length)} of ${count(all)} shown</p>`}
  `;
}
