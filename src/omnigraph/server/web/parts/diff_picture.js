/** A change drawn as a graph: changed entities and one hop of context; large changes as bubbles by type. */
import { html, useMemo } from "../vendor/core.js";
import { call } from "../api.js";
import { SIGNS } from "./changes.js";
import { Show, useLoaded } from "./loading.js";
import { Picture } from "./svg.js";
import { count } from "./values.js";

const DRAWN_MAX = 80;
const CONTEXT_MAX = 40;
const HOP_MAX = 3;

/** Bubbles: a node for each node type that changed, an edge for each edge type. */
function bubbles(diff, catalog) {
  const tables = new Map(diff.tables.map((table) => [table.table_key, table]));
  const note = (table) => (table ? [["+", table.inserted], ["~", table.updated], ["-", table.deleted]].filter(([, n]) => Number(n) > 0).map(([sign, n]) => sign + count(n)).join(" ") : "");
  const edges = catalog.edges
    .filter((type) => tables.has(`edge:${type.name}`))
    .flatMap((type) => type.ends.map((ends) => ({ ...ends, label: `${type.name} ${note(tables.get(`edge:${type.name}`))}` })));
  const named = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
  const nodes = catalog.nodes
    .filter((type) => tables.has(`node:${type.name}`) || named.has(type.name))
    .map((type) => ({ key: type.name, label: type.name, note: note(tables.get(`node:${type.name}`)), sign: tables.has(`node:${type.name}`) ? "~" : "" }));
  return { nodes, edges };
}

/** Changed entities, the ends of changed edges, and unchanged neighbours. */
function entities(diff, catalog, around, conflicts) {
  const clashes = new Set(conflicts.map((item) => `${item.type_name}/${item.entity_id}`));
  const ends = new Map(catalog.edges.map((type) => [type.name, type]));
  const nodes = new Map();
  const edges = new Map();
  const context = (type, id, label = id) => {
    const key = `${type}/${id}`;
    if (!nodes.has(key)) nodes.set(key, { key, label, sign: "" });
    return key;
  };
  for (const change of diff.changes.filter((item) => item.kind === "node")) {
    const key = `${change.type.name}/${change.id}`;
    nodes.set(key, { key, label: change.id, sign: clashes.has(key) ? "!" : SIGNS[change.op] });
  }
  for (const change of diff.changes.filter((item) => item.kind === "edge")) {
    const { from, to } = (change.after ?? change.before).endpoints;
    const { source, target } = ends.get(change.type.name);
    const [start, end] = [[source, from], [target, to]].map(([type, node]) => (typeof node === "object" ? context(node.type, node.id) : context(type, node)));
    edges.set(`${change.type.name}/${change.id}`, { source: start, target: end, label: change.type.name, sign: SIGNS[change.op] });
  }
  const captions = new Map(around.nodes.map((node) => [`${node.type}/${node.id}`, node.caption]));
  for (const edge of around.edges) {
    const key = `${edge.type}/${edge.id}`;
    if (edges.has(key)) continue;
    const [source, target] = [edge.source, edge.target].map((end) => `${end.type}/${end.id}`);
    const isNew = !nodes.has(source) || !nodes.has(target);
    if (isNew && nodes.size >= diff.changes.length * 2 + CONTEXT_MAX) continue;
    context(edge.source.type, edge.source.id, captions.get(source));
    context(edge.target.type, edge.target.id, captions.get(target));
    edges.set(key, { source, target, label: edge.type });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

async function load(diff) {
  const catalog = await call("catalog", { query: { snapshot: diff.to } });
  const isLarge = diff.changes.length > DRAWN_MAX || diff.truncated;
  if (isLarge) return { catalog, isLarge };
  const byType = {};
  for (const change of diff.changes) {
    if (change.kind === "node" && change.op !== "delete") (byType[change.type.name] ??= []).push(change.id);
  }
  const around = Object.keys(byType).length
    ? await call("neighbours", { body: { nodes: byType, limit: HOP_MAX * diff.changes.length, snapshot: diff.to } })
    : { nodes: [], edges: [] };
  return { catalog, around, isLarge };
}

/** @param {{diff: any, conflicts: any[]}} props */
export function DiffPicture({ diff, conflicts }) {
  const found = useLoaded(() => load(diff), [diff]);
  const drawn = useMemo(() => {
    if (!found.value) return null;
    const { catalog, around, isLarge } = found.value;
    return isLarge ? bubbles(diff, catalog) : entities(diff, catalog, around, conflicts);
  }, [found.value, conflicts]);
  return html`<section class="card diff" aria-label="Change as a graph">
    <h2>Change as a graph</h2>
    <${Show} of=${found}>
      ${() => html`
        ${drawn?.nodes.length > 0 && html`<${Picture} ...${drawn} size=${13} gap=${90} label="Changed entities and their neighbours; the list of changes has the same content" />`}
        <p class="quiet">
          <strong class="plus">+</strong> inserted (square) · <strong class="tilde">~</strong> updated (diamond) · <strong class="minus">-</strong> deleted (dashed) ·
          <strong class="minus"> !</strong> conflict · grey: unchanged neighbours
          ${found.value?.isLarge && html` · more than ${count(DRAWN_MAX)} changes: drawn by type`}
        </p>
      `}
    <//>
  </section>`;
}
