/** A plan as a tree, with the tables that it reads, and one line about the cost before running. */
import { html } from "../vendor/core.js";
import { count, counted } from "./values.js";

/** @param {{operator: any}} props */
function Operator({ operator }) {
  const rest = operator.description.replace(new RegExp(`^${operator.operator} ?`), "");
  return html`<li>
    <strong>${operator.operator}</strong> <span class="quiet mono">${rest}</span>
    ${operator.inputs.length > 0 && html`<ul>${operator.inputs.map((/** @type {any} */ inner) => html`<${Operator} operator=${inner} />`)}</ul>`}
  </li>`;
}

/** The rows that a plan returns at most, if it says so. @type {(operator: any) => number | null} */
function limitOf(operator) {
  if (operator?.operator === "Slice") return Number(/limit (\d+)/.exec(operator.description)?.[1] ?? NaN) || null;
  return operator?.operator === "Project" ? limitOf(operator.inputs[0]) : null;
}

/** @type {(plan: any) => string} */
export function cost(plan) {
  const rows = plan.tables.reduce((/** @type {number} */ total, /** @type {any} */ table) => total + Number(table.rows), 0);
  const indexes = plan.tables.flatMap((/** @type {any} */ table) => table.indexes.map((/** @type {any} */ index) => index.index));
  const used = indexes.length ? `index ${indexes.join(", ")}` : "no index";
  const limit = limitOf(plan.plan);
  const returned = limit === null ? "" : `returns at most ${counted(limit, "row")}, `;
  return `${returned}reads up to ${counted(rows, "row")} of ${counted(plan.tables.length, "table")}, ${used}`;
}

/** @param {{plan: any}} props */
export function Plan({ plan }) {
  return html`<div class="plan card">
    <ul>
      ${plan.plan
        ? html`<${Operator} operator=${plan.plan} />`
        : plan.statements.map((/** @type {any} */ item) => html`<li><strong>${item.operator}</strong> ${item.type_name}</li>`)}
    </ul>
    <table class="grid plain-rows">
      <thead><tr><th scope="col">Table</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Files</th><th scope="col">Indexes</th><th scope="col">Traversal</th></tr></thead>
      <tbody>
        ${plan.tables.map(
          (/** @type {any} */ table) => html`<tr>
            <td>${table.table}</td><td class="number">${count(table.rows)}</td><td class="number">${count(table.fragments)}</td>
            <td>${table.indexes.map((/** @type {any} */ index) => `${index.index} ${Math.round(index.coverage * 100)} %`).join(", ") || "–"}</td>
            <td>${table.traversal ?? "–"}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
