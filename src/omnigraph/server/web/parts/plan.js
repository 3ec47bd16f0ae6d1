/** A plan as a tree, with the tables that it reads. */
import { html } from "../vendor/core.js";
import { count } from "./values.js";

/** @param {{operator: any}} props */
function Operator({ operator }) {
  return html`<li>
    <strong>${operator.operator}</strong> <span class="quiet">${operator.description}</span>
    ${operator.inputs.length > 0 && html`<ul>${operator.inputs.map((inner) => html`<${Operator} operator=${inner} />`)}</ul>`}
  </li>`;
}

/** One line about the cost before running. @type {(plan: any) => string} */
export function cost(plan) {
  const rows = plan.tables.reduce((total, table) => total + Number(table.rows), 0);
  const indexes = plan.tables.flatMap((table) => table.indexes.map((index) => index.index));
  const tables = plan.tables.length === 1 ? "1 table" : `${plan.tables.length} tables`;
  return `${tables}, ${count(rows)} rows stored${indexes.length ? `, indexes ${indexes.join(", ")}` : ""}`;
}

/** @param {{plan: any}} props */
export function Plan({ plan }) {
  return html`<div class="plan card">
    <ul>
      ${plan.plan
        ? html`<${Operator} operator=${plan.plan} />`
        : plan.statements.map((item) => html`<li><strong>${item.operator}</strong> ${item.type_name}</li>`)}
    </ul>
    <table class="grid">
      <thead><tr><th>Table</th><th>Rows</th><th>Files</th><th>Indexes</th></tr></thead>
      <tbody>
        ${plan.tables.map(
          (table) => html`<tr>
            <td>${table.table}</td><td class="number">${count(table.rows)}</td><td class="number">${count(table.fragments)}</td>
            <td>${table.indexes.map((index) => `${index.index} ${Math.round(index.coverage * 100)} %`).join(", ") || "–"}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
