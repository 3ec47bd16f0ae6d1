/** Query: editor, parameters, cost before running, and results as table, graph, plan and JSON. */
import { html, useEffect, useMemo, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Drawing } from "../parts/drawing.js";
import { Editor } from "../parts/editor.js";
import { Empty, Problem, useLoaded } from "../parts/loading.js";
import { cost, Plan } from "../parts/plan.js";
import { Table } from "../parts/table.js";
import { count, short } from "../parts/values.js";
import { link, route, setParams, target } from "../state.js";

const VIEWS = ["Table", "Graph", "Plan", "JSON"];
const PLAN_MS = 400;
const DRAWN_MAX = 2000;

/** A text of a field as the value of a parameter. @type {(type: string, text: string) => any} */
function parameterValue(type, text) {
  const scalar = type.replace(/\?$/, "");
  if (text === "") return scalar === "String" && !type.endsWith("?") ? "" : null;
  if (/^(I8|I16|I32|U8|U16|U32|F32|F64)$/.test(scalar)) return Number(text);
  if (scalar === "Bool") return text === "true";
  if (scalar.startsWith("[") || scalar.startsWith("Vector")) return JSON.parse(text);
  return text;
}

/** The nodes and edges that rows came from. @type {(entities: any) => {nodes: any[], edges: any[]}} */
function drawnOf(entities) {
  const nodes = new Map();
  const edges = new Map();
  const place = Object.fromEntries(entities.variables.map((item, i) => [item.name, i]));
  const keyOf = (row, name) => `${entities.variables[place[name]]?.type}/${row[place[name]]}`;
  for (const row of entities.ids) {
    if (nodes.size >= DRAWN_MAX) break;
    entities.variables.forEach((item, i) => {
      if (item.kind === "node" && row[i] !== null) nodes.set(`${item.type}/${row[i]}`, { key: `${item.type}/${row[i]}`, label: row[i], type: item.type });
    });
    for (const item of entities.links) {
      const [source, goal] = [keyOf(row, item.source), keyOf(row, item.target)];
      edges.set(`${source} ${goal} ${item.type}`, { source, target: goal, type: item.type });
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function Graph({ result }) {
  const drawn = useMemo(() => drawnOf(result.entities ?? { variables: [], links: [], ids: [] }), [result]);
  if (drawn.nodes.length === 0) return html`<${Empty}>These rows name no nodes. The table has their values.<//>`;
  return html`<${Drawing} ...${drawn} label=${`${drawn.nodes.length} nodes and ${drawn.edges.length} edges of the result; the table has the same rows`} />
    <p class="quiet">${count(drawn.nodes.length)} nodes, ${count(drawn.edges.length)} edges</p>`;
}

/** @type {(name: string, content: string, type: string) => void} */
function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** @type {(result: any) => string} */
function csvOf({ columns, rows }) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\r\n");
}

function Results({ result, plan, view }) {
  if (view === "Plan") return plan ? html`<${Plan} plan=${plan} />` : html`<${Empty}>The text has no plan yet.<//>`;
  if (!result) return html`<${Empty}>Run the query to see its rows.<//>`;
  if (view === "JSON") return html`<pre class="card">${JSON.stringify(result.rows, null, 2)}</pre>`;
  if (view === "Graph") return html`<${Graph} result=${result} />`;
  if (result.rows.length === 0) return html`<${Empty}>No rows.<//>`;
  return html`<${Table} columns=${result.columns} rows=${result.rows} label="Rows of the result" />`;
}

function firstText(catalog) {
  const type = catalog?.nodes[0];
  return type ? `query all() {\n  match { $x: ${type.name} }\n  return { $x.${type.caption ?? "id"} }\n  limit 50\n}` : "";
}

export default function Query() {
  const { graph, params } = route.value;
  const at = [graph, params.ref, params.at];
  const catalog = useLoaded(() => call("catalog", { query: target() }), at);
  const stored = useLoaded(() => call("queries"), [graph]);
  const [plan, setPlan] = useState(null);
  const [run, setRun] = useState({});
  const text = params.text ?? firstText(catalog.value);
  const given = useMemo(() => JSON.parse(params.params || "{}"), [params.params]);
  const view = params.view ?? "Table";
  const check = (query, position) => call("check", { body: { query, position, ...target() } }).catch(() => null);

  useEffect(() => {
    if (!text) return undefined;
    const explain = async () => {
      // Only a text without mistakes has a plan; asking for another one is an error of the server.
      const found = await check(text);
      setPlan(found?.status === "ok" ? await call("explain", { body: { query: text, ...target() } }).catch(() => null) : null);
    };
    const timer = setTimeout(explain, PLAN_MS);
    return () => clearTimeout(timer);
  }, [text, ...at]);

  async function execute() {
    setRun({ isRunning: true });
    try {
      const shape = plan ?? (await call("explain", { body: { query: text, ...target() } }));
      const values = Object.fromEntries(shape.parameters.map(({ name, type }) => [name, parameterValue(type, given[name] ?? "")]));
      const began = performance.now();
      const result = await call("query", { body: { query: text, params: values, entities: true, ...target() } });
      setRun({ result, milliseconds: performance.now() - began });
      setParams({ text, run: "1" }, true);
    } catch (error) {
      setRun({ error });
    }
  }
  // A link that carries a result is run when it is opened.
  useEffect(() => {
    if (params.run && params.text) execute();
  }, []);

  const result = run.result;
  return html`
    <h1 class="hidden">Query</h1>
    <div class="columns">
      <section class="stack" aria-label="Query text">
        ${text !== "" && html`<${Editor} text=${text} current=${() => route.value.params.text} onChange=${(next) => setParams({ text: next, run: "" }, true)} onRun=${execute} check=${check} />`}
        <div class="line">
          <button class="main" onClick=${execute} disabled=${run.isRunning}>Run</button>
          <button onClick=${() => setParams({ view: "Plan" }, true)}>Explain</button>
          <span class="quiet" data-name="cost">${plan ? cost(plan) : ""}</span>
        </div>
      </section>
      <aside class="stack">
        <section class="card" aria-label="Parameters">
          <h2>Parameters</h2>
          ${!plan?.parameters.length && html`<span class="quiet">None declared.</span>`}
          ${plan?.parameters.map(
            ({ name, type }) => html`<label>${name}: ${type}
              <input name=${`param-${name}`} value=${given[name] ?? ""} onInput=${(event) => setParams({ params: JSON.stringify({ ...given, [name]: event.target.value }), run: "" }, true)} />
            </label>`,
          )}
        </section>
        ${stored.value?.queries.length > 0 &&
        html`<section class="card" aria-label="Stored queries">
          <h2>Stored queries</h2>
          <ul class="rows">
            ${stored.value.queries.map((item) => html`<li><span>${item.name}</span> <span class="quiet">${item.description ?? item.params.map((p) => p.name).join(", ")}</span></li>`)}
          </ul>
        </section>`}
      </aside>
    </div>
    <div class="tabs" role="tablist">
      ${VIEWS.map((name) => html`<button role="tab" aria-selected=${String(name === view)} onClick=${() => setParams({ view: name }, true)}>${name}</button>`)}
      <span class="grow"></span>
      ${result &&
      html`<span role="status" data-name="summary">${count(result.row_count)} ${Number(result.row_count) === 1 ? "row" : "rows"}, ${Math.round(run.milliseconds)} ms</span>
        <a href=${link("query", { text, params: params.params, view, run: "1", ref: "", at: result.graph_commit_id })} title="The same rows, at any time">@${short(result.graph_commit_id)}</a>
        <button onClick=${() => save("result.csv", csvOf(result), "text/csv")}>CSV</button>
        <button onClick=${() => save("result.json", JSON.stringify(result.rows), "application/json")}>JSON file</button>`}
    </div>
    ${run.error ? html`<${Problem} error=${run.error} />` : html`<${Results} result=${result} plan=${plan} view=${view} />`}
  `;
}
