/** Browse: entities of a type with filters and sort, one entity beside with its neighbours and history. */
import { html, useMemo, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Drawing } from "../parts/drawing.js";
import { Empty, Show, useLoaded } from "../parts/loading.js";
import { Table } from "../parts/table.js";
import { count, short, Value, When } from "../parts/values.js";
import { link, route, setParams, target } from "../state.js";

const PAGE = 200;
const OPERATORS = { eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥", contains: "contains", starts_with: "starts with", is_null: "is null", is_not_null: "is not null" };
const SAMPLE = 500;

/** @typedef {{column: string, op: string, value?: any}} Condition */

/** @type {(type: any, column: string, text: string) => any} */
function typed(type, column, text) {
  const property = type.properties.find((item) => item.name === column);
  if (property && /^(I8|I16|I32|U8|U16|U32|F32|F64)$/.test(property.scalar)) return Number(text);
  return property?.scalar === "Bool" ? text === "true" : text;
}

/** @param {{type: any, where: Condition[]}} props */
function Filters({ type, where }) {
  const columns = ["id", ...(type.kind === "edge" ? ["src", "dst"] : []), ...type.properties.map((item) => item.name)];
  const [draft, setDraft] = useState({ column: columns[0], op: "eq", text: "" });
  const set = (next) => setParams({ where: next.length ? JSON.stringify(next) : "", offset: "" });
  const isUnary = draft.op.startsWith("is_");
  function add(event) {
    event.preventDefault();
    const value = isUnary ? {} : { value: typed(type, draft.column, draft.text) };
    set([...where, { column: draft.column, op: draft.op, ...value }]);
    setDraft({ ...draft, text: "" });
  }
  return html`<div class="line">
    ${where.map(
      (item, i) => html`<span class="chip">${item.column} ${OPERATORS[item.op]} ${item.value ?? ""}
        <button aria-label=${`Remove the filter on ${item.column}`} onClick=${() => set(where.filter((_, j) => j !== i))}>✕</button></span>`,
    )}
    <form class="line" onSubmit=${add}>
      <select aria-label="Column" value=${draft.column} onChange=${(event) => setDraft({ ...draft, column: event.target.value })}>
        ${columns.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
      <select aria-label="Operator" value=${draft.op} onChange=${(event) => setDraft({ ...draft, op: event.target.value })}>
        ${Object.entries(OPERATORS).map(([name, sign]) => html`<option value=${name}>${sign}</option>`)}
      </select>
      ${!isUnary && html`<input aria-label="Value" size="10" value=${draft.text} onInput=${(event) => setDraft({ ...draft, text: event.target.value })} />`}
      <button>Add filter</button>
    </form>
  </div>`;
}

/** Neighbours of a node, as links and on request as a picture. @param {{type: string, id: string}} props */
function Neighbours({ type, id }) {
  const [isDrawn, setDrawn] = useState(false);
  const found = useLoaded(() => call("neighbours", { body: { nodes: { [type]: [id] }, limit: 50, ...target() } }), [type, id, route.value.params.ref, route.value.params.at]);
  const drawn = useMemo(() => {
    const key = (end) => `${end.type}/${end.id}`;
    const nodes = (found.value?.nodes ?? []).map((node) => ({ key: key(node), label: node.caption, type: node.type }));
    const edges = (found.value?.edges ?? []).map((edge) => ({ source: key(edge.source), target: key(edge.target), type: edge.type }));
    return { nodes, edges };
  }, [found.value]);
  return html`<${Show} of=${found}>
    ${(value) => html`
      <h2>Neighbours</h2>
      ${value.totals.every((item) => Number(item.total) === 0) && html`<p class="quiet">None.</p>`}
      ${value.totals
        .filter((item) => Number(item.total) > 0)
        .map((item) => {
          const isOut = item.direction === "out";
          const ends = value.edges.filter((edge) => edge.type === item.type && (isOut ? edge.source : edge.target).id === id);
          return html`<details open>
            <summary>${item.type} ${isOut ? "→" : "←"} ${count(item.total)}${Number(item.shown) < Number(item.total) ? ` (${count(item.shown)} shown)` : ""}</summary>
            <div class="line">${ends.map((edge) => {
              const end = isOut ? edge.target : edge.source;
              return html`<a class="chip" href=${link("browse", { type: end.type, id: end.id })}>${end.id}</a>`;
            })}</div>
          </details>`;
        })}
      <button onClick=${() => setDrawn(!isDrawn)}>${isDrawn ? "Hide the picture" : "Draw"}</button>
      ${isDrawn && html`<${Drawing} ...${drawn} label="The entity and its neighbours" />`}
    `}
  <//>`;
}

/** @param {{kind: string, type: string, id: string}} props */
function Entity({ kind, type, id }) {
  const path = `entities/${kind}/${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
  const found = useLoaded(() => call(path, { query: { history: true, ...target() } }), [path, route.value.params.ref, route.value.params.at]);
  return html`<section class="card stack" aria-label="Entity">
    <${Show} of=${found}>
      ${(entity) => html`
        <div class="line spread"><h1>${id}</h1><button aria-label="Close the entity" onClick=${() => setParams({ id: "" })}>✕</button></div>
        ${entity.source && html`<p><a href=${link("browse", entity.source)}>${entity.source.id}</a> → <a href=${link("browse", entity.target)}>${entity.target.id}</a></p>`}
        <table class="grid">
          <thead><tr><th>Property</th><th>Value</th><th>Set by</th></tr></thead>
          <tbody>
            ${Object.entries(entity.properties).map(([name, value]) => {
              const set = entity.history?.properties[name];
              return html`<tr>
                <td>${name}</td>
                <td><${Value} value=${value} /></td>
                <td>${set
                  ? html`<a href=${link("history", { commit: set.graph_commit_id })} title=${set.message ?? ""}>${set.actor_id ?? `@${short(set.graph_commit_id)}`}</a> <span class="quiet"><${When} micros=${set.authored_at} /></span>`
                  : "–"}</td>
              </tr>`;
            })}
          </tbody>
        </table>
        ${entity.history && !entity.history.complete && html`<p class="quiet">Older commits were not read.</p>`}
        ${kind === "node" && html`<${Neighbours} type=${type} id=${id} />`}
      `}
    <//>
  </section>`;
}

/** The most connected nodes, at the positions of the server. */
function Sample() {
  const found = useLoaded(() => call("sample", { query: { limit: SAMPLE, ...target() } }), [route.value.graph, route.value.params.ref, route.value.params.at]);
  const drawn = useMemo(() => {
    const list = found.value?.nodes ?? [];
    const nodes = list.map((node) => ({ ...node, key: `${node.type}/${node.id}`, label: node.caption }));
    return { nodes, edges: (found.value?.edges ?? []).map((edge) => ({ source: nodes[edge.source].key, target: nodes[edge.target].key, type: edge.type })) };
  }, [found.value]);
  const pick = (key) => setParams({ type: key.split("/")[0], id: key.slice(key.indexOf("/") + 1), kind: "" });
  return html`<${Show} of=${found}>
    ${(value) => html`<${Drawing} ...${drawn} label="The most connected nodes" onPick=${pick} />
      <p class="quiet">${count(value.nodes.length)} of ${count(value.nodes_total)} nodes, ${count(value.edges.length)} of ${count(value.edges_total)} edges shown</p>`}
  <//>`;
}

/** @param {{type: any, where: Condition[]}} props */
function Rows({ type, where }) {
  const { params } = route.value;
  const { sort = "id", order = "", id } = params;
  const offset = Number(params.offset ?? 0);
  const body = { kind: type.kind, type: type.name, where, sort, descending: order === "desc", limit: PAGE, offset, ...target() };
  const page = useLoaded(() => call("entities", { body }), [JSON.stringify(body)]);
  return html`<${Show} of=${page}>
    ${(found) => html`
      <div class="line spread">
        <span class="quiet" data-name="count">${count(Math.min(PAGE, Number(found.total) - offset))} of ${count(found.total)}</span>
        <span class="line">
          <button disabled=${offset === 0} onClick=${() => setParams({ offset: offset > PAGE ? String(offset - PAGE) : "" })}>Back</button>
          <button disabled=${offset + PAGE >= Number(found.total)} onClick=${() => setParams({ offset: String(offset + PAGE) })}>Next</button>
        </span>
      </div>
      ${found.rows.length === 0
        ? html`<${Empty}>No entity matches.<//>`
        : html`<${Table}
            columns=${found.columns}
            rows=${found.rows}
            sort=${sort}
            descending=${order === "desc"}
            onSort=${(column) => setParams({ sort: column, order: column === sort && order !== "desc" ? "desc" : "", offset: "" })}
            picked=${(row) => row.id === id}
            onPick=${(row) => setParams({ id: row.id })}
            label=${`Entities of ${type.name}`}
          />`}
    `}
  <//>`;
}

export default function Browse() {
  const { graph, params } = route.value;
  const catalog = useLoaded(() => call("catalog", { query: target() }), [graph, params.ref, params.at]);
  const where = useMemo(() => JSON.parse(params.where || "[]"), [params.where]);
  return html`<${Show} of=${catalog}>
    ${(found) => {
      const types = [...found.nodes, ...found.edges];
      const type = types.find((item) => item.name === params.type) ?? types[0];
      if (!type) return html`<${Empty}>The schema has no types.<//>`;
      const isPicture = params.view === "picture";
      return html`
        <h1 class="hidden">Browse ${type.name}</h1>
        <div class="columns">
          <section class="stack" aria-label="Entities">
            <div class="line">
              <label class="inline">Type
                <select name="type" value=${type.name} onChange=${(event) => setParams({ type: event.target.value, id: "", where: "", sort: "", order: "", offset: "" })}>
                  ${types.map((item) => html`<option value=${item.name}>${item.name}</option>`)}
                </select>
              </label>
              <button onClick=${() => setParams({ view: isPicture ? "" : "picture" })}>${isPicture ? "As rows" : "As a picture"}</button>
            </div>
            ${isPicture ? html`<${Sample} />` : html`<${Filters} key=${type.name} type=${type} where=${where} /><${Rows} type=${type} where=${where} />`}
          </section>
          ${params.id
            ? html`<${Entity} key=${`${type.name}/${params.id}`} kind=${type.kind} type=${type.name} id=${params.id} />`
            : html`<${Empty}>Pick a row to see the entity, its neighbours and who set its values.<//>`}
        </div>
      `;
    }}
  <//>`;
}
