/** Changes of entities as a list by type: sign, id, and the values before and after. A group is read when it is opened. */
import { html, useEffect, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Problem } from "./loading.js";
import { Changed, count, text, typeOf, Value } from "./values.js";

const SIGNS = /** @type {Record<string, [string, string, string]>} */ ({ insert: ["+", "plus", "inserted"], update: ["~", "tilde", "updated"], delete: ["−", "minus", "deleted"] });
const PAGE = 100;
const OPEN_BELOW = 60;

/** The node at an end of an edge: an id, or a type and an id where edges have ends of several types. @param {any} end */
const endText = (end) => (typeof end === "object" ? `${end.type}:${end.id}` : end);

/** @param {{change: any, onPick?: (change: any) => void}} props */
function Change({ change, onPick }) {
  const [sign, colour, word] = SIGNS[change.op];
  const side = change.after ?? change.before;
  const ends = side.endpoints;
  const differs = (/** @type {string} */ name) => text(change.before.properties[name]) !== text(change.after.properties[name]);
  const cells = change.op === "update" ? (change.changed ?? Object.keys(side.properties).filter(differs)) : [];
  const name = ends ? html`${endText(ends.from)} → ${endText(ends.to)}` : change.id;
  return html`<li>
    <span class=${`sign ${colour}`} title=${word}>${sign}<span class="hidden">${word}</span></span>
    ${onPick ? html`<button class="pick-change" onClick=${() => onPick(change)}>${name}</button>` : html`<span>${name}</span>`}
    ${cells.length > 0 &&
    html`<div class="cells">
      ${cells.map((/** @type {string} */ cell) => html`<span class="quiet">${cell}</span><span><del><${Value} value=${change.before.properties[cell]} /></del> → <ins><${Value} value=${change.after.properties[cell]} /></ins></span>`)}
    </div>`}
  </li>`;
}

/** @param {{table: any, read: (type: string, offset: number) => Promise<any[]>, isOpen: boolean, onPick?: (change: any) => void}} props */
function Group({ table, read, isOpen, onPick }) {
  const total = Number(table.inserted) + Number(table.updated) + Number(table.deleted);
  const [opened, setOpened] = useState(isOpen);
  const [changes, setChanges] = useState(/** @type {any[] | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isReading, setReading] = useState(false);
  async function more() {
    setReading(true);
    try {
      const found = await read(table.table_key, changes?.length ?? 0);
      setChanges((before) => [...(before ?? []), ...found]);
    } catch (problem) {
      setError(problem);
    }
    setReading(false);
  }
  useEffect(() => {
    if (opened && changes === null) more();
  }, [opened]);
  return html`<details class="group" open=${opened} onToggle=${(/** @type {any} */ event) => setOpened(event.target.open)}>
    <summary><strong>${typeOf(table.table_key)}</strong> <${Changed} tables=${[table]} /></summary>
    ${error && html`<${Problem} error=${error} />`}
    ${opened && changes === null && !error && html`<div class="skeleton" role="status" aria-label="Loading"></div>`}
    ${changes && html`<ul class="changes" tabindex="0">${changes.map((change) => html`<${Change} key=${change.id} change=${change} onPick=${onPick} />`)}</ul>`}
    ${changes && changes.length < total && html`<p class="line tiny quiet">${count(changes.length)} of ${count(total)} shown <button class="small" disabled=${isReading} onClick=${more}>Show more</button></p>`}
  </details>`;
}

/** Changes between two commits. @param {{from: string, to: string, tables: any[], onPick?: (change: any) => void}} props */
export function DiffChanges({ from, to, tables, onPick }) {
  const total = tables.reduce((sum, table) => sum + Number(table.inserted) + Number(table.updated) + Number(table.deleted), 0);
  const read = async (/** @type {string} */ key, /** @type {number} */ offset) => {
    const [kind, type] = [key.split(":")[0], typeOf(key)];
    return (await call("diff", { query: { from, to, kind, type, limit: PAGE, offset } })).changes;
  };
  return html`${tables.map((table) => html`<${Group} key=${`${from}${to}${table.table_key}`} table=${table} read=${read} isOpen=${total <= OPEN_BELOW} onPick=${onPick} />`)}`;
}
