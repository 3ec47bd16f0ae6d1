/** Results as files, and as a few lines of Python that give the same rows. */
import { html, useState } from "../vendor/core.js";
import { ARROW, download } from "../api.js";
import { Dialog } from "./dialog.js";
import { notice, route } from "../state.js";

/** @type {(name: string, content: BlobPart, type: string) => void} */
export function saveFile(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A text that a spreadsheet would run as a formula is marked as text. @type {(text: string) => string} */
const inert = (text) => (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);

/** @type {(result: {columns: string[], rows: any[]}) => string} */
export function csvOf({ columns, rows }) {
  const cell = (/** @type {any} */ value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : inert(String(value));
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\r\n");
}

/** @type {(value: any) => string} */
function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${python(item)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** @type {(text: string, params: any, commit: string) => string} */
export function pythonOf(text, params, commit) {
  const place = new URL(`../graphs/${encodeURIComponent(route.value.graph)}`, document.baseURI).href;
  const quoted = text.includes('"""') ? JSON.stringify(text) : `r"""\n${text.trim()}\n"""`;
  return [
    "import omnigraph",
    "",
    `graph = omnigraph.open(${JSON.stringify(place)}, token="...")`,
    `text = ${quoted}`,
    `rows = graph.query(text, ${python(params)}, at=${JSON.stringify(commit)})`,
    "print(rows.df())",
  ].join("\n");
}

/** @param {{text: string, params: any, result: any}} props */
export function Export({ text, params, result }) {
  const [isPython, setPython] = useState(false);
  const commit = result.graph_commit_id;
  const snippet = pythonOf(text, params, commit);
  async function arrow() {
    try {
      saveFile("result.arrows", await download("query", { body: { query: text, params, snapshot: commit }, headers: { accept: ARROW } }), ARROW);
    } catch (error) {
      notice.value = /** @type {Error} */ (error).message;
    }
  }
  async function copy() {
    await navigator.clipboard?.writeText(snippet).catch(() => undefined);
    notice.value = "Copied.";
  }
  return html`<span class="line" role="group" aria-label="Export">
    <button class="small" onClick=${() => saveFile("result.csv", csvOf(result), "text/csv")}>CSV</button>
    <button class="small" onClick=${arrow}>Arrow</button>
    <button class="small" onClick=${() => saveFile("result.json", JSON.stringify(result.rows, null, 1), "application/json")}>JSON</button>
    <button class="small" onClick=${() => setPython(true)}>Python</button>
    ${isPython &&
    html`<${Dialog} title="The same rows in Python" onClose=${() => setPython(false)}>
      <pre class="card" tabindex="0">${snippet}</pre>
      <p class="line"><button class="main" onClick=${copy}>Copy</button><button onClick=${() => setPython(false)}>Close</button></p>
    <//>`}
  </span>`;
}
