/** A table that draws only the rows in view, so that long results scroll. */
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { Value } from "./values.js";

const ROW = 30;
const SPARE = 12;
const ALL_BELOW = 120;

/**
 * @param {{columns: string[], rows: any[], sort?: string, descending?: boolean, onSort?: (column: string) => void,
 *   picked?: (row: any) => boolean, onPick?: (row: any) => void, label: string}} props
 */
export function Table({ columns, rows, sort, descending, onSort, picked, onPick, label }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => setHeight(box.current?.clientHeight || 600), [rows]);
  const isWhole = rows.length <= ALL_BELOW;
  const first = isWhole ? 0 : Math.max(0, Math.floor(top / ROW) - SPARE);
  const last = isWhole ? rows.length : Math.min(rows.length, Math.ceil((top + height) / ROW) + SPARE);
  return html`<div class="scroll" ref=${box} onScroll=${(event) => setTop(event.target.scrollTop)} tabindex="0" role="region" aria-label=${label}>
    <table class="grid" aria-rowcount=${rows.length}>
      <thead>
        <tr>
          ${columns.map((column) => {
            const order = column === sort ? (descending ? "descending" : "ascending") : undefined;
            return html`<th scope="col" aria-sort=${order}>
              ${onSort
                ? html`<button class="head" onClick=${() => onSort(column)}>${column}${order ? (descending ? " ↓" : " ↑") : ""}</button>`
                : column}
            </th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${first > 0 && html`<tr style=${{ height: `${first * ROW}px` }}></tr>`}
        ${rows.slice(first, last).map(
          (row) => html`<tr
            class=${`${onPick ? "pick" : ""} ${picked?.(row) ? "picked" : ""}`}
            tabindex=${onPick ? 0 : undefined}
            onClick=${onPick && (() => onPick(row))}
            onKeyDown=${onPick && ((event) => event.key === "Enter" && onPick(row))}
          >
            ${columns.map((column) => html`<td><${Value} value=${row[column]} /></td>`)}
          </tr>`,
        )}
        ${last < rows.length && html`<tr style=${{ height: `${(rows.length - last) * ROW}px` }}></tr>`}
      </tbody>
    </table>
  </div>`;
}
