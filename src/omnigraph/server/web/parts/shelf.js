/** The shelf beside the editor: queries that were saved in this browser, those of the server, and those that were run. */
import { html, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Dialog } from "./dialog.js";
import { saveFile } from "./export.js";
import { declaredName, deleteQuery, savedOf, saveQuery } from "./kept_queries.js";
import { useLoaded } from "./loading.js";
import { counted, When } from "./values.js";
import { notice, route } from "../state.js";

const RUNS_SHOWN = 8;
const NAME_MAX = 80;

/** Ask for a name, and keep the query in this browser. @param {{text: string, params: string, onClose: () => void}} props */
export function SaveDialog({ text, params, onClose }) {
  const { graph } = route.value;
  const [name, setName] = useState(declaredName(text));
  const isTaken = savedOf(graph).some((item) => item.name === name.trim());
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const isKept = saveQuery(graph, { name: name.trim(), text, params });
    notice.value = isKept ? `Saved as ${name.trim()}.` : "This browser has no room left, or keeps nothing. Save the text as a file instead.";
    if (isKept) onClose();
  };
  return html`<${Dialog} title="Save the query" onClose=${onClose}>
    <form class="stack tight" onSubmit=${save}>
      <label>Name<input name="save-name" maxlength=${NAME_MAX} value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
      ${isTaken && html`<p class="tilde tiny" role="status">A query of this name is replaced.</p>`}
      <p class="quiet tiny">The text and its parameters are kept in this browser, for this graph. The server does not see them.</p>
      <p class="quiet tiny">For everyone: put the file into the directory of <code>omnigraph serve --queries</code> and send the server <code>SIGHUP</code>, or into the cluster and run <code>omnigraph cluster apply</code>.</p>
      <div class="line">
        <button class="main" disabled=${!name.trim()}>${isTaken ? "Replace" : "Save"}</button>
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="button" class="end" onClick=${() => saveFile(`${declaredName(text)}.gq`, `${text.trim()}\n`, "text/plain")}>Download as a file</button>
      </div>
    </form>
  <//>`;
}

/** Queries of this browser and of the server. @param {{onOpen: (text: string, params?: string) => void, runs: any[], onForget: () => void}} props */
export function Shelf({ onOpen, runs, onForget }) {
  const { graph } = route.value;
  const [, setDeleted] = useState("");
  const stored = useLoaded(() => call("queries"), [graph]);
  const saved = savedOf(graph);
  const open = async (/** @type {string} */ name) => onOpen((await call(`queries/${encodeURIComponent(name)}`)).text.trim(), "");
  const remove = (/** @type {string} */ name) => {
    if (!confirm(`Delete the saved query ${name}?`)) return;
    deleteQuery(graph, name);
    setDeleted(name);
  };
  return html`
    ${saved.length > 0 &&
    html`<section class="card" aria-label="Saved queries">
      <header><h2>Saved queries</h2><span class="quiet tiny">in this browser</span></header>
      <ul class="rows">
        ${saved.map((item) => html`<li key=${item.name}><button class="plain small mono" title=${item.text} onClick=${() => onOpen(item.text, item.params)}>${item.name}</button><button class="plain small" aria-label=${`Delete ${item.name}`} title="Delete" onClick=${() => remove(item.name)}>✕</button></li>`)}
      </ul>
    </section>`}
    ${stored.value?.queries.length > 0 &&
    html`<section class="card" aria-label="Stored queries">
      <header><h2>Stored queries</h2><span class="quiet tiny">on the server</span></header>
      <ul class="rows">
        ${stored.value.queries.map((/** @type {any} */ item) => html`<li><button class="plain small mono" onClick=${() => open(item.name)}>${item.name}</button><span class="quiet tiny">${item.description ?? item.params.map((/** @type {any} */ p) => p.name).join(", ")}</span></li>`)}
      </ul>
    </section>`}
    ${runs.length > 0 &&
    html`<section class="card" aria-label="Run before">
      <header><h2>Run before</h2><button class="plain small" onClick=${onForget}>Clear</button></header>
      <ul class="rows">
        ${runs.slice(0, RUNS_SHOWN).map((item) => html`<li><button class="plain small mono" title=${item.text} onClick=${() => onOpen(item.text, item.params)}>${declaredName(item.text)}</button><span class="quiet tiny">${counted(item.rows, "row")}, ${item.ms} ms, <${When} micros=${item.at * 1000} /></span></li>`)}
      </ul>
    </section>`}
  `;
}
