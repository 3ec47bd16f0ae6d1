/** Query: editor, parameters, cost before running, and results as table, graph, plan and JSON. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { nodeNames, useCatalog } from "../parts/catalog.js";
import { Editor } from "../parts/editor.js";
import { Export } from "../parts/export.js";
import { forget, remember, runsOf } from "../parts/kept_queries.js";
import { Empty, Problem } from "../parts/loading.js";
import { Parameters, valuesOf } from "../parts/parameters.js";
import { expandNode, Picture } from "../parts/picture.js";
import { cost, Plan } from "../parts/plan.js";
import { SaveDialog, Shelf } from "../parts/shelf.js";
import { Table } from "../parts/table.js";
import { counted, short } from "../parts/values.js";
import { go, link, moment, parsed, revision, route, setParams, shownCommit, target } from "../state.js";

const VIEWS = ["Table", "Graph", "Plan", "JSON"];
const PLAN_MS = 300;
const DRAWN_MAX = 2000;

/** The nodes and edges that rows came from. @type {(entities: any) => {nodes: any[], edges: any[], isCut: boolean}} */
function drawnOf(entities) {
  const nodes = new Map();
  const edges = new Map();
  const place = Object.fromEntries(entities.variables.map((/** @type {any} */ item, /** @type {number} */ i) => [item.name, i]));
  const keyAt = (/** @type {any[]} */ row, /** @type {string} */ name) => (row[place[name]] === null || place[name] === undefined ? null : `${entities.variables[place[name]].type}/${row[place[name]]}`);
  for (const row of entities.ids) {
    if (nodes.size >= DRAWN_MAX) return { nodes: [...nodes.values()], edges: [...edges.values()], isCut: true };
    entities.variables.forEach((/** @type {any} */ item, /** @type {number} */ i) => {
      if (item.kind === "node" && row[i] !== null) nodes.set(`${item.type}/${row[i]}`, { key: `${item.type}/${row[i]}`, label: row[i], type: item.type });
    });
    for (const item of entities.links) {
      const [source, goal] = [keyAt(row, item.source), keyAt(row, item.target)];
      if (source && goal) edges.set(`${source} ${goal} ${item.type}`, { source, target: goal, type: item.type });
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], isCut: false };
}

/** @param {{result: any, types?: string[]}} props */
function Graph({ result, types }) {
  const drawn = useMemo(() => drawnOf(result.entities ?? { variables: [], links: [], ids: [] }), [result]);
  if (drawn.nodes.length === 0) return html`<${Empty} title="These rows name no nodes">The table has their values. Return a node, such as <code>$p</code>, to see it here.<//>`;
  const note = `${counted(drawn.nodes.length, "node")}, ${counted(drawn.edges.length, "edge")}${drawn.isCut ? " of the first rows" : ""}`;
  return html`<div class="card flush">
    <${Picture} ...${drawn} types=${types} label=${`${note} of the result`} note=${note} onPick=${(/** @type {string} */ key) => go(link("browse", { type: key.split("/")[0], id: key.slice(key.indexOf("/") + 1) }))} onExpand=${expandNode} />
  </div>`;
}

/** @param {{result: any, plan: any, view: string, types?: string[]}} props */
function Results({ result, plan, view, types }) {
  if (view === "Plan") return plan ? html`<${Plan} plan=${plan} />` : html`<${Empty} title="No plan yet">A text without mistakes has one.<//>`;
  if (!result) return html`<${Empty} title="Nothing was run yet">Press <kbd>Ctrl</kbd> <kbd>Enter</kbd> or Run.<//>`;
  if (result.changed) return html`<div class="state"><strong class="plus">✓ ${result.changed}</strong><p><a href=${link("history", { commit: result.graph_commit_id })}>commit @${short(result.graph_commit_id)}</a></p></div>`;
  if (view === "JSON") return html`<pre class="card" tabindex="0" role="region" aria-label="Rows as JSON">${JSON.stringify(result.rows, null, 2)}</pre>`;
  if (view === "Graph") return html`<${Graph} result=${result} types=${types} />`;
  if (result.rows.length === 0) return html`<${Empty} title="No rows">The query matches nothing at this commit.<//>`;
  return html`<${Table} columns=${result.columns} rows=${result.rows} label="Rows of the result" />`;
}

/** @param {{diagnostics: any[], onPick: (range: any) => void}} props */
const Diagnostics = ({ diagnostics, onPick }) => html`<ul class="diagnostics" aria-label="Mistakes in the text">
  ${diagnostics.map(
    (item) => html`<li class=${item.severity}>
      <button class="plain small" title="Go to the place" onClick=${() => onPick(item.range)}>${item.line}:${item.column}</button>
      ${item.message} ${item.hint && html`<span class="quiet">${item.hint}</span>`} <code class="quiet">${item.code}</code>
    </li>`,
  )}
</ul>`;

/** @type {(catalog: any) => string} */
function firstText(catalog) {
  const type = catalog?.nodes[0];
  return type ? `query all() {\n  match { $x: ${type.name} }\n  return { $x.${type.caption ?? "id"} }\n  limit 50\n}` : "";
}

/** Run a text that reads, or one that changes the branch that is shown. @type {(text: string, plan: any, values: any) => Promise<any>} */
async function execute(text, plan, values) {
  if (plan.kind === "read") return call("query", { body: { query: text, params: values, entities: true, ...target() } }).catch((error) => (error.status === 403 ? call("query", { body: { query: text, params: values, ...target() } }) : Promise.reject(error)));
  const { ref = "main", at } = route.value.params;
  if (at) throw new Error("A commit cannot be changed. Go back to a branch first.");
  if (!confirm(`This text changes ${ref}. Run it?`)) return null;
  const made = await call("mutate", { body: { query: text, params: values, branch: ref }, headers: writeKey() });
  revision.value += 1;
  const changes = `${counted(made.affected_nodes ?? 0, "node")} and ${counted(made.affected_edges ?? 0, "edge")} changed on ${ref}`;
  return { changed: changes, graph_commit_id: made.graph_commit_id ?? made.commit?.graph_commit_id, rows: made.rows ?? [], columns: made.columns ?? [], row_count: made.row_count ?? 0 };
}

export default function Query() {
  const { graph, params } = route.value;
  const catalog = useCatalog();
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [run, setRun] = useState(/** @type {any} */ ({}));
  const [diagnostics, setDiagnostics] = useState(/** @type {any[]} */ ([]));
  const [runs, setRuns] = useState(() => runsOf(graph));
  const [isSaving, setSaving] = useState(false);
  const select = useRef(/** @type {any} */ (null));
  const text = params.text ?? firstText(catalog.value);
  const given = useMemo(() => /** @type {Record<string, string>} */ (parsed(params.params, {})), [params.params]);
  const view = params.view ?? "Table";
  const check = (/** @type {string} */ query, /** @type {number} */ position) => call("check", { body: { query, position, ...target() } }).catch(() => null);
  const types = useMemo(() => catalog.value && nodeNames(catalog.value), [catalog.value]);
  useEffect(() => {
    if (!text) return undefined;
    let isCurrent = true;
    const explain = async () => {
      // Only a text without mistakes has a plan; asking for another one is an error of the server.
      const found = await call("check", { body: { query: text, ...target() } }).catch(() => null);
      const next = found?.status === "ok" ? await call("explain", { body: { query: text, ...target() } }).catch(() => null) : null;
      if (isCurrent) setPlan(next);
    };
    const timer = setTimeout(explain, PLAN_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text, ...moment()]);

  const signature = JSON.stringify([text, params.params ?? "", ...moment()]);
  const lastRun = useRef("");
  // Runs are counted: the answer of an earlier one must not replace that of the last.
  const turns = useRef(0);
  const shownText = useRef(signature);
  shownText.current = signature;
  async function start() {
    // A text that was opened or typed while this one runs stays; only the rows are shown beside it.
    const isShown = () => shownText.current === signature;
    lastRun.current = signature;
    const turn = (turns.current += 1);
    const show = (/** @type {any} */ next) => turn === turns.current && setRun(next);
    setRun((/** @type {any} */ before) => ({ ...before, error: null, isRunning: true }));
    try {
      const shape = await call("explain", { body: { query: text, ...target() } });
      if (isShown()) setPlan(shape);
      const values = valuesOf(shape.parameters, given);
      const began = performance.now();
      const result = await execute(text, shape, values);
      const ms = Math.round(performance.now() - began);
      show((/** @type {any} */ before) => (result ? { result, milliseconds: ms, values } : { ...before, isRunning: false }));
      if (!result) return;
      shownCommit.value = result.graph_commit_id ?? "";
      remember(graph, { text, params: params.params ?? "", rows: Number(result.row_count), ms, at: Date.now() });
      setRuns(runsOf(graph));
      if (isShown()) setParams({ text, run: shape.kind === "read" ? "1" : "" }, true);
    } catch (error) {
      show({ error });
    }
  }
  // A link that carries a result is run when it is opened; one that would change something is not.
  useEffect(() => {
    if (params.run && params.text && lastRun.current !== signature) start();
  }, [params.run, signature]);
  const open = (/** @type {string} */ next, /** @type {string} */ nextParams = "") => setParams({ text: next, params: nextParams, run: "" });
  const result = run.result;
  return html`
    <h1 class="hidden">Query</h1>
    <div class="columns side">
      <section class="stack tight" aria-label="Query text">
        ${text !== "" && html`<${Editor} text=${text} select=${select} current=${() => route.value.params.text} onChange=${(/** @type {string} */ next) => setParams({ text: next, run: "" }, true)} onRun=${start} onDiagnostics=${setDiagnostics} check=${check} />`}
        ${diagnostics.length > 0 && html`<${Diagnostics} diagnostics=${diagnostics} onPick=${(/** @type {any} */ range) => select.current?.(range)} />`}
        <div class="line">
          <button class="main" onClick=${start} disabled=${run.isRunning}>${run.isRunning ? "Running…" : "Run"}</button>
          <button onClick=${() => setParams({ view: "Plan" }, true)}>Explain</button>
          <button disabled=${!text.trim()} onClick=${() => setSaving(true)}>Save as…</button>
          <span class="quiet tiny" data-name="cost">${plan ? cost(plan) : ""}</span>
          <span class="end quiet tiny keys-hint"><kbd>Ctrl</kbd> <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd> <kbd>Space</kbd> completes</span>
        </div>
        <div class="tabs">
          <div role="tablist" aria-label="Views of the result">
            ${VIEWS.map((name) => html`<button role="tab" aria-selected=${String(name === view)} onClick=${() => setParams({ view: name }, true)}>${name}</button>`)}
          </div>
          <span class="grow"></span>
          ${result && !result.changed &&
          html`<span class="line tiny"><span role="status" data-name="summary">${counted(result.row_count, "row")}, ${run.milliseconds} ms</span>
            <a href=${link("query", { text, params: params.params, view, run: "1", ref: "", at: result.graph_commit_id })} title="The same rows, at any time">@${short(result.graph_commit_id)}</a>
            <${Export} text=${text} params=${run.values} result=${result} /></span>`}
        </div>
        ${run.error ? html`<${Problem} error=${run.error} what="The query did not run" />` : html`<${Results} result=${result} plan=${plan} view=${view} types=${types} />`}
      </section>
      <aside class="stack" aria-label="Parameters and stored queries">
        <${Parameters} parameters=${plan?.parameters ?? []} given=${given} onChange=${(/** @type {any} */ next) => setParams({ params: JSON.stringify(next), run: "" }, true)} />
        <${Shelf} onOpen=${open} runs=${runs} onForget=${() => (forget(graph), setRuns([]))} />
      </aside>
    </div>
    ${isSaving && html`<${SaveDialog} text=${text} params=${params.params ?? ""} onClose=${() => setSaving(false)} />`}
  `;
}
