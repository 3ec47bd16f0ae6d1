/** A revert: its preview with counts and conflicts, a message, then one button. */
import { html, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { Problem, Show, useLoaded, useWork } from "./loading.js";
import { Changed, counted, text, typeOf } from "./values.js";
import { notice, revision } from "../state.js";

/** @param {{what: any, title: string, branch: string, onDone: () => void}} props */
export function Revert({ what, title, branch, onDone }) {
  const [message, setMessage] = useState("");
  const work = useWork();
  const preview = useLoaded(() => call("revert/preview", { body: { ...what, branch } }), [JSON.stringify(what), branch]);
  const revert = () =>
    work.run(async () => {
      await call("revert", { body: { ...what, branch, expected_head: preview.value.head_commit_id, message: message || undefined }, headers: writeKey() });
      notice.value = `Reverted on ${branch}.`;
      onDone();
      revision.value += 1;
    });
  return html`<div class="card stack tight" aria-label="Revert" role="group">
    <h2>Revert ${title} on ${branch}</h2>
    <${Show} of=${preview}>
      ${(/** @type {any} */ found) => html`
        <p>${counted(found.reverted_commit_ids.length, "commit is", "commits are")} undone by one new commit: <${Changed} tables=${found.tables} /></p>
        <ul class="rows">${found.tables.map((/** @type {any} */ table) => html`<li>${typeOf(table.table_key)} <${Changed} tables=${[table]} /></li>`)}</ul>
        ${found.merge_conflicts.slice(0, 20).map((/** @type {any} */ item) => html`<p class="minus">! ${item.type_name} ${item.entity_id} ${item.property}: was ${text(item.source)}, later set to ${text(item.target)}</p>`)}
        ${found.merge_conflicts.length > 0 && html`<p class="quiet">Later commits changed the same values. Revert those first.</p>`}
        ${found.tables.length === 0 && html`<p class="quiet">Nothing of these commits is left: there is nothing to undo.</p>`}
        <label>Message<input name="revert-message" value=${message} onInput=${(/** @type {any} */ event) => setMessage(event.target.value)} /></label>
        <div class="line">
          <button class="main" disabled=${found.merge_conflicts.length > 0 || found.tables.length === 0 || work.isRunning} onClick=${revert}>Revert</button>
          <button onClick=${onDone}>Cancel</button>
        </div>
      `}
    <//>
    ${work.error && html`<${Problem} error=${work.error} what="Nothing was reverted" />`}
  </div>`;
}
