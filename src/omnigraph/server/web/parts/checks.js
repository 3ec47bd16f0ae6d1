/** Checks of a review: conflicts, the schema, constraints of the merged graph, and stored queries that must return no rows. */
import { html } from "../vendor/core.js";
import { call } from "../api.js";
import { schemaText } from "./schema_changes.js";
import { count, counted } from "./values.js";

const BROKEN_SHOWN = 20;

/** The stored queries `check_*` at the source; each must return no rows. @type {(source: string) => Promise<any[]>} */
export async function storedChecks(source) {
  const { queries } = await call("queries").catch(() => ({ queries: [] }));
  const named = queries.filter((/** @type {any} */ item) => item.name.startsWith("check_") && !item.mutation && item.params.length === 0);
  return Promise.all(
    named.map(async (/** @type {any} */ { name, description }) => {
      try {
        const found = await call(`queries/${encodeURIComponent(name)}`, { body: { branch: source } });
        return { name, description, rows: Number(found.row_count) };
      } catch (error) {
        return { name, description, rows: -1, error };
      }
    }),
  );
}

/** @param {{isGood: boolean, children?: any}} props */
const Check = ({ isGood, children }) => html`<li><span><strong class=${isGood ? "plus" : "minus"}>${isGood ? "✓" : "✗"}</strong> ${children}</span></li>`;

/** @param {{children?: any}} props */
export const CheckList = ({ children }) => html`<section class="card" aria-label="Checks">
  <header><h2>Checks</h2><span class="quiet tiny">stored queries named <code>check_*</code> must return no rows</span></header>
  <ul class="rows checks">${children}</ul>
</section>`;

/** The line of two schemas that cannot be merged. @param {{message: string, hint?: string | null}} props */
export const SchemaConflict = ({ message, hint }) => html`<${CheckList}><${Check} isGood=${false}>the schemas conflict<//><li><pre>${message}</pre></li>${hint && html`<li class="quiet">${hint}</li>`}<//>`;

/** @param {{broken: any[]}} props */
const Broken = ({ broken }) => html`<ul class="broken tiny">
  ${broken.slice(0, BROKEN_SHOWN).map((item) => html`<li>${item.message}</li>`)}
  ${broken.length > BROKEN_SHOWN && html`<li>${counted(broken.length - BROKEN_SHOWN, "more", "more")}</li>`}
</ul>`;

/** @param {{conflicts: number, open: number, broken: any[], schema: any[], checked: any[]}} props */
export function Checks({ conflicts, open, broken, schema, checked }) {
  return html`<${CheckList}>
    <${Check} isGood=${open === 0}>${conflicts === 0 ? "no conflicts" : open === 0 ? "every conflict is settled" : `${count(open)} of ${counted(conflicts, "conflict")} open`}<//>
    <${Check} isGood=${true}>${schema.length === 0 ? "schema unchanged" : html`the schemas fit together: <span class="mono tiny">${schemaText(schema)}</span>`}<//>
    <${Check} isGood=${broken.length === 0}>${broken.length === 0 ? "constraints hold in the merged graph" : html`${counted(broken.length, "constraint is", "constraints are")} broken in the merged graph<${Broken} broken=${broken} />`}<//>
    ${checked.map((/** @type {any} */ item) => html`<${Check} key=${item.name} isGood=${item.rows === 0}><code>${item.name}</code> ${item.error ? item.error.message : `returned ${counted(item.rows, "row")}`} <span class="quiet tiny">${item.description ?? ""}</span><//>`)}
  <//>`;
}
