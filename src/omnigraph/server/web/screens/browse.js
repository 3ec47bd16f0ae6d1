/** Browse: entities of a type with filters and sort, one entity beside with its neighbours and history; or a picture. */
import { html, useLayoutEffect, useMemo } from "../vendor/core.js";
import { call } from "../api.js";
import { nodeNames, TypeDot, typesOf, useCatalog } from "../parts/catalog.js";
import { ReviewHint } from "../parts/edit.js";
import { Entity } from "../parts/entity.js";
import { Filters } from "../parts/filters.js";
import { Empty, Show, useLoaded } from "../parts/loading.js";
import { expandNode, Picture } from "../parts/picture.js";
import { Table } from "../parts/table.js";
import { count, counted } from "../parts/values.js";
import { moment, parsed, route, setParams, shownCommit, target } from "../state.js";

const PAGE = 200;
const SAMPLES = [300, 1000, 2000, 5000, 20000];

/** The most connected nodes, at the positions of the server. @param {{catalog: any}} props */
function Sample({ catalog }) {
  const { params } = route.value;
  const limit = Number(params.sample) || SAMPLES[0];
  const only = params.only ? params.only.split(",") : undefined;
  const found = useLoaded(() => call("sample", { query: { limit, type: only, ...target() } }), [limit, params.only, ...moment()]);
  const drawn = useMemo(() => {
    const nodes = (found.value?.nodes ?? []).map((/** @type {any} */ node) => ({ key: `${node.type}/${node.id}`, type: node.type, label: node.caption, x: node.x, y: node.y }));
    const edges = (found.value?.edges ?? []).map((/** @type {any} */ edge) => ({ key: `${edge.type}/${edge.id}`, source: nodes[edge.source].key, target: nodes[edge.target].key, type: edge.type }));
    return { nodes, edges };
  }, [found.value]);
  const focus = params.id && params.type ? `${params.type}/${params.id}` : undefined;
  return html`<${Show} of=${found} lines=${8}>
    ${(/** @type {any} */ value) => {
      if (!value.nodes.length) return html`<${Empty} title="Nothing to draw">There are no nodes at this commit.<//>`;
      const shown = `${count(value.nodes.length)} of ${counted(value.nodes_total, "node")}, ${count(value.edges.length)} of ${counted(value.edges_total, "edge")} shown`;
      const more = SAMPLES.filter((size) => size > limit && limit < Number(value.nodes_total))[0];
      return html`<div class="card flush">
        <${Picture}
          ...${drawn}
          types=${nodeNames(catalog)}
          focus=${focus}
          label=${`The most connected nodes: ${shown}`}
          note=${html`${shown} ${more && html`<button class="small" onClick=${() => setParams({ sample: String(more) })}>Show up to ${count(more)}</button>`}`}
          onPick=${(/** @type {string} */ key) => setParams({ type: key.split("/")[0], id: key.slice(key.indexOf("/") + 1), kind: "" })}
          onExpand=${expandNode}
        />
      </div>`;
    }}
  <//>`;
}

/** Columns to show: an id that is the key is there already. @type {(type: any, columns: string[], rows: any[]) => string[]} */
const shownColumns = (type, columns, rows) => (type.key.length === 1 && rows.every((row) => row.id === row[type.key[0]]) ? columns.filter((name) => name !== "id") : columns);

/** @param {{type: any, where: any[]}} props */
function Rows({ type, where }) {
  const { params } = route.value;
  const { sort = "id", order = "", id } = params;
  const offset = Number(params.offset) || 0;
  const body = { kind: type.kind, type: type.name, where, sort, descending: order === "desc", limit: PAGE, offset, ...target() };
  const page = useLoaded(() => call("entities", { body }), [JSON.stringify(body), route.value.graph]);
  useLayoutEffect(() => {
    shownCommit.value = page.value?.graph_commit_id ?? "";
  }, [page.value]);
  return html`<${Show} of=${page} lines=${10}>
    ${(/** @type {any} */ found) => html`
      ${found.rows.length === 0
        ? html`<${Empty} title=${where.length ? "No entity matches" : `There is no ${type.name} yet`}>${where.length ? "Remove a filter to see more." : html`Load some: <code>omnigraph load</code>.`}<//>`
        : html`<${Table}
            columns=${shownColumns(type, found.columns, found.rows)}
            rows=${found.rows}
            sort=${sort}
            descending=${order === "desc"}
            onSort=${(/** @type {string} */ column) => setParams({ sort: column, order: column === sort && order !== "desc" ? "desc" : "", offset: "" })}
            picked=${(/** @type {any} */ row) => row.id === id}
            onPick=${(/** @type {any} */ row) => setParams({ id: row.id })}
            label=${`Entities of ${type.name}`}
          />`}
      <div class="line spread tiny">
        <span class="quiet" data-name="count">${found.rows.length ? `${count(offset + 1)} to ${count(offset + found.rows.length)} of ${count(found.total)}` : ""}</span>
        <span class="line">
          <button class="small" disabled=${offset === 0} onClick=${() => setParams({ offset: offset > PAGE ? String(offset - PAGE) : "" })}>Back</button>
          <button class="small" disabled=${offset + PAGE >= Number(found.total)} onClick=${() => setParams({ offset: String(offset + PAGE) })}>Next</button>
        </span>
      </div>
    `}
  <//>`;
}

/** @param {{catalog: any, type: any}} props */
function Types({ catalog, type }) {
  const pick = (/** @type {any} */ next) => setParams({ type: next.name, kind: next.kind === "edge" ? "edge" : "", id: "", where: "", sort: "", order: "", offset: "", draw: "", history: "" });
  return html`<div class="pills" role="group" aria-label="Types">
    ${typesOf(catalog).map((item) => html`<button class="pill" aria-pressed=${String(item === type)} title=${item.description ?? item.name} onClick=${() => pick(item)}><${TypeDot} catalog=${catalog} type=${item} />${item.name} <span class="quiet tiny">${count(item.count)}</span></button>`)}
  </div>`;
}

export default function Browse() {
  const { params } = route.value;
  const catalog = useCatalog();
  const where = useMemo(() => /** @type {any[]} */ (parsed(params.where, [])), [params.where]);
  return html`<${Show} of=${catalog} lines=${10}>
    ${(/** @type {any} */ found) => {
      const types = typesOf(found);
      const named = types.filter((item) => item.name === params.type);
      const type = named.find((item) => item.kind === (params.kind || "node")) ?? named[0] ?? types.find((item) => Number(item.count) > 0) ?? types[0];
      if (!type) return html`<${Empty} title="The schema has no types">Declare them: <code>omnigraph schema apply</code>.<//>`;
      const isPicture = params.view === "picture";
      return html`
        <div class="title-line">
          <h1>${isPicture ? "The graph" : type.name}</h1>
          <span class="quiet">${isPicture ? "the nodes with most edges" : (type.description ?? (type.source ? `${type.source} → ${type.target}` : ""))}</span>
          <span class="line end"><${ReviewHint} /><button onClick=${() => setParams({ view: isPicture ? "" : "picture" })}>${isPicture ? "As rows" : "As a picture"}</button></span>
        </div>
        <div class=${`columns ${params.id ? "" : "single"}`}>
          <section class="stack tight" aria-label="Entities">
            ${isPicture ? html`<${Sample} catalog=${found} />` : html`<${Types} catalog=${found} type=${type} /><${Filters} key=${type.name} type=${type} where=${where} /><${Rows} type=${type} where=${where} />`}
          </section>
          ${params.id && html`<${Entity} key=${`${type.name}/${params.id}`} catalog=${found} type=${type} id=${params.id} />`}
        </div>
      `;
    }}
  <//>`;
}
