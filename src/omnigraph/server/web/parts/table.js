/** A table that draws only the rows in view, so that long results scroll. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { isNumber, Value } from "./values.js";

const ROW = 34;
const SPARE = 12;
const ALL_BELOW = 120;

/** @param {KeyboardEvent} event @param {() => void} pick */
function rowKey(event, pick) {
  const row = /** @type {HTMLElement} */ (event.currentTarget);
  const next = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
  if (event.key === "Enter" || event.key === " ") pick();
  else if (next instanceof HTMLElement) next.focus();
  else return;
  event.preventDefault();
}

/** Columns whose values are numbers stand at the right. @type {(columns: string[], rows: any[]) => Set<string>} */
const numeric = (columns, rows) => new Set(columns.filter((name) => rows.slice(0, 50).some((row) => isNumber(row[name])) && rows.slice(0, 50).every((row) => row[name] === null || isNumber(row[name]))));

/**
 * @param {{columns: string[], rows: any[], sort?: string, descending?: boolean, onSort?: (column: string) => void,
 *   picked?: (row: any) => boolean, onPick?: (row: any) => void, label: string}} props rows that are picked have ids
 */
export function Table({ columns, rows, sort, descending, onSort, picked, onPick, label }) {
  const box = useRef(/** @type {any} */ (null));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const numbers = useMemo(() => numeric(columns, rows), [columns, rows]);
  useEffect(() => setHeight(box.current?.clientHeight || 600), [rows]);
  const isWhole = rows.length <= ALL_BELOW;
  const first = isWhole ? 0 : Math.max(0, Math.floor(top / ROW) - SPARE);
  const last = isWhole ? rows.length : Math.min(rows.length, Math.ceil((top + height) / ROW) + SPARE);
  return html`<div class="scroll" ref=${box} onScroll=${(/** @type {any} */ event) => setTop(event.target.scrollTop)} tabindex="0" role="region" aria-label=${label}>
    <table class="grid" aria-rowcount=${rows.length}>
      <thead>
        <tr>
          ${columns.map((column) => {
            const order = column === sort ? (descending ? "descending" : "ascending") : undefined;
            return html`<th scope="col" class=${numbers.has(column) ? "number" : ""} aria-sort=${order}>
              ${onSort
                ? html`<button class="sort" title=${`Sort by ${column}`} onClick=${() => onSort(column)}>${column}${order ? (descending ? " ↓" : " ↑") : ""}</button>`
                : column}
            </th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${first > 0 && html`<tr style=${{ height: `${first * ROW}px` }}></tr>`}
        ${rows.slice(first, last).map(
          (row, i) => html`<tr
            key=${onPick ? row.id : first + i}
            class=${`${onPick ? "pick" : ""} ${picked?.(row) ? "picked" : ""}`}
            tabindex=${onPick ? 0 : undefined}
            aria-selected=${onPick ? String(Boolean(picked?.(row))) : undefined}
            onClick=${onPick && (() => onPick(row))}
            onKeyDown=${onPick && ((/** @type {KeyboardEvent} */ event) => rowKey(event, () => onPick(row)))}
          >
            ${columns.map((column) => html`<td class=${numbers.has(column) ? "number" : ""}><${Value} value=${row[column]} /></td>`)}
          </tr>`,
        )}
        ${last < rows.length && html`<tr style=${{ height: `${(rows.length - last) * ROW}px` }}></tr>`}
      </tbody>
    </table>
  </div>`;
}
