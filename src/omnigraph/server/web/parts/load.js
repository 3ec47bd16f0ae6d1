/** Loading a file: what it would change is counted first, then it is loaded as a job whose progress is shown. */
import { html, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { typesOf } from "./catalog.js";
import { Dialog } from "./dialog.js";
import { Problem, useWork } from "./loading.js";
import { Changed, count, counted, short, typeOf } from "./values.js";
import { link, revision, route } from "../state.js";

const AGAIN_MS = 400;
const VIOLATIONS_SHOWN = 50;
/** Media types by the end of a file's name. */
const FORMATS = /** @type {Record<string, string>} */ ({
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
  json: "application/json",
  parquet: "application/vnd.apache.parquet",
});
/** Formats whose rows may name their type. */
const NAMES_TYPES = new Set(["jsonl", "ndjson", "json"]);
const MODES = /** @type {Record<string, string>} */ ({
  upsert: "insert new entities, set only the named properties of those that exist",
  merge: "insert new entities, replace those that exist",
  append: "insert new entities, refuse those that exist",
  update: "set the named properties, refuse entities that do not exist",
  overwrite: "replace the whole type: entities that the file lacks are deleted",
});

/** @type {(name: string) => string} */
const endOf = (name) => name.toLowerCase().split(".").at(-1) ?? "";

/** Send the file, and wait until its job has ended. @type {(file: File, query: Record<string, any>, onRows: (rows: number) => void) => Promise<any>} */
async function finished(file, query, onRows) {
  let job = await call("jobs/load", { content: file, query, headers: { "content-type": FORMATS[endOf(file.name)], ...writeKey() } });
  while (job.state === "waiting" || job.state === "running") {
    onRows(Number(job.progress.done));
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    job = await call(`jobs/${job.id}`);
  }
  return job;
}

/** Rows that break the schema, by line. @param {{error: any, name: string}} props */
function Refused({ error, name }) {
  const found = error.problem?.violations;
  if (!found) return html`<${Problem} error=${{ status: 400, message: error.error, hint: error.problem?.hint }} what="The file cannot be loaded" />`;
  return html`<div class="state error" role="alert">
    <strong>${counted(found.total, "violation")}: nothing is loaded</strong>
    <ul class="broken tiny">
      ${found.samples.slice(0, VIOLATIONS_SHOWN).map((/** @type {any} */ item) => html`<li>${item.line && html`<code>${name}:${item.line}</code> `}${item.message}</li>`)}
      ${found.total > VIOLATIONS_SHOWN && html`<li>and ${count(found.total - VIOLATIONS_SHOWN)} more</li>`}
    </ul>
  </div>`;
}

/** @param {{preview: any}} props */
function Counted({ preview }) {
  const tables = preview.tables.filter((/** @type {any} */ table) => Number(table.inserted) + Number(table.updated) + Number(table.deleted) > 0);
  if (!tables.length) return html`<p class="state" role="status">Nothing would change: the graph has these entities already.</p>`;
  return html`<div role="status" aria-label="Preview"><ul class="rows">${tables.map((/** @type {any} */ table) => html`<li><strong>${typeOf(table.table_key)}</strong><${Changed} tables=${[table]} /></li>`)}</ul></div>`;
}

/** @param {{catalog: any, onClose: () => void}} props */
export function LoadDialog({ catalog, onClose }) {
  const branch = route.value.params.ref || "main";
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [type, setType] = useState("");
  const [mode, setMode] = useState("upsert");
  const [rows, setRows] = useState(0);
  const [seen, setSeen] = useState(/** @type {any} */ (null));
  const [done, setDone] = useState(/** @type {any} */ (null));
  const work = useWork();
  const end = file ? endOf(file.name) : "";
  const isKnown = !file || end in FORMATS;
  const isTyped = type !== "" || NAMES_TYPES.has(end);
  const query = { type, mode, branch };
  // What was counted for other choices says nothing about these.
  const changed = (/** @type {() => void} */ change) => (change(), setSeen(null));
  const run = (/** @type {boolean} */ isPreview) =>
    work.run(async () => {
      setRows(0);
      const job = await finished(/** @type {File} */ (file), { ...query, ...(isPreview ? { dry_run: true } : {}) }, setRows);
      if (isPreview || job.error) return setSeen(job);
      setDone(job.result);
      revision.value += 1;
    });
  const id = done?.commit?.graph_commit_id;
  if (done) {
    return html`<${Dialog} title="Load data" onClose=${onClose}>
      <div class="state" role="status"><strong class="plus">✓ Loaded into ${branch}</strong>
        <p><${Changed} counts=${[done.inserted, done.updated, done.deleted].map(Number)} /></p>
        ${id && html`<p><a href=${link("history", { commit: id })}>commit @${short(id)}</a></p>`}
      </div>
      <button class="main" onClick=${onClose}>Close</button>
    <//>`;
  }
  return html`<${Dialog} title="Load data" onClose=${onClose}>
    <form class="stack tight" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), run(!seen?.result))}>
      <label>File <input name="load-file" type="file" accept=${Object.keys(FORMATS).map((name) => `.${name}`).join()} onChange=${(/** @type {any} */ event) => changed(() => setFile(event.target.files[0] ?? null))} /></label>
      ${!isKnown && html`<p class="minus tiny" role="alert">A file ends with ${Object.keys(FORMATS).map((name) => `.${name}`).join(", ")}.</p>`}
      <label><span>Type <span class="field-note">of every row; JSON may name it in each</span></span>
        <select name="load-type" value=${type} onChange=${(/** @type {any} */ event) => changed(() => setType(event.target.value))}>
          <option value="">named in the file</option>
          ${typesOf(catalog).map((item) => html`<option value=${item.name}>${item.name}</option>`)}
        </select>
      </label>
      <label><span>Mode <span class="field-note">${MODES[mode]}</span></span>
        <select name="load-mode" value=${mode} onChange=${(/** @type {any} */ event) => changed(() => setMode(event.target.value))}>${Object.keys(MODES).map((name) => html`<option value=${name}>${name}</option>`)}</select>
      </label>
      <p class="quiet tiny">The file is checked first; nothing is changed before you have seen what it would change on <strong>${branch}</strong>.</p>
      ${work.isRunning && html`<div class="line tiny" role="status"><span class="progress"><i></i></span>${rows ? counted(rows, "row") : "sending…"}</div>`}
      ${work.error && html`<${Problem} error=${work.error} what="The file was not loaded" />`}
      ${!work.isRunning && seen?.result && html`<${Counted} preview=${seen.result} />`}
      ${!work.isRunning && seen?.error && html`<${Refused} error=${seen.error} name=${file?.name ?? ""} />`}
      <div class="line">
        <button class="main" disabled=${!file || !isKnown || !isTyped || work.isRunning}>${seen?.result ? `Load into ${branch}` : "Preview"}</button>
        <button type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}
