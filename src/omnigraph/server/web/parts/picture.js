/** A picture of entities: the drawing that Python's pictures use too, loaded when something is drawn, and a table beside it. */
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { target } from "../state.js";
import { count } from "./values.js";

const TABLE_MAX = 500;
const NEIGHBOURS_MAX = 40;
export const keyOf = (/** @type {{type: string, id: string}} */ end) => `${end.type}/${end.id}`;

/** @typedef {import("../drawing/model.js").GivenNode} Node @typedef {import("../drawing/model.js").GivenEdge} Edge */

/** The type and id of a key. @type {(key: string) => {type: string, id: string}} */
export const entityOf = (key) => ({ type: key.slice(0, key.indexOf("/")), id: key.slice(key.indexOf("/") + 1) });

/** Neighbours as parts of a picture. @type {(found: any) => {nodes: Node[], edges: Edge[]}} */
export function neighbourParts(found) {
  const facts = (/** @type {any} */ properties) => Object.entries(properties).filter(([, value]) => value !== null).slice(0, 12).map(([name, value]) => /** @type {[string, string]} */ ([name, String(typeof value === "object" ? JSON.stringify(value) : value).slice(0, 120)]));
  const nodes = found.nodes.map((/** @type {any} */ node) => ({ key: keyOf(node), type: node.type, label: node.caption, facts: facts(node.properties) }));
  const edges = found.edges.map((/** @type {any} */ edge) => ({ key: `${edge.type}/${edge.id}`, source: keyOf(edge.source), target: keyOf(edge.target), type: edge.type, facts: facts(edge.properties) }));
  return { nodes, edges };
}

/** Read the neighbours of a node that is expanded. @type {(node: {key: string}) => Promise<any>} */
export async function expandNode({ key }) {
  const { type, id } = entityOf(key);
  return neighbourParts(await call("neighbours", { body: { nodes: { [type]: [id] }, limit: NEIGHBOURS_MAX, ...target() } }));
}

/** @param {{nodes: Node[], edges: Edge[]}} props */
function Tables({ nodes, edges }) {
  const names = new Map(nodes.map((node) => [node.key, node.label]));
  const rest = Math.max(0, nodes.length - TABLE_MAX) + Math.max(0, edges.length - TABLE_MAX);
  return html`<div class="stack tight">
    <table class="grid plain-rows">
      <caption class="hidden">Nodes of the picture</caption>
      <thead><tr><th scope="col">Type</th><th scope="col">Node</th></tr></thead>
      <tbody>${nodes.slice(0, TABLE_MAX).map((node) => html`<tr><td>${node.sign} ${node.type}</td><td class="wrap">${node.label}</td></tr>`)}</tbody>
    </table>
    <table class="grid plain-rows">
      <caption class="hidden">Edges of the picture</caption>
      <thead><tr><th scope="col">From</th><th scope="col">Edge</th><th scope="col">To</th></tr></thead>
      <tbody>${edges.slice(0, TABLE_MAX).map((edge) => html`<tr><td class="wrap">${names.get(edge.source)}</td><td>${edge.sign} ${edge.type}</td><td class="wrap">${names.get(edge.target)}</td></tr>`)}</tbody>
    </table>
    ${rest > 0 && html`<p class="quiet tiny">${count(rest)} more are in the picture only</p>`}
  </div>`;
}

/**
 * @param {{nodes: Node[], edges: Edge[], label: string, types?: string[], focus?: string, note?: any,
 *   onPick?: (key: string) => void, onExpand?: (node: any) => Promise<any>}} props
 */
export function Picture({ nodes, edges, label, types, focus, note, onPick, onExpand }) {
  const host = useRef(/** @type {any} */ (null));
  const drawing = useRef(/** @type {any} */ (null));
  const [isTable, setTable] = useState(false);
  const [problem, setProblem] = useState("");
  const picked = useRef(onPick);
  picked.current = onPick;
  useEffect(() => {
    let isGone = false;
    import("../drawing/drawing.js").then(
      ({ Drawing }) => {
        if (isGone || !host.current) return;
        drawing.current = new Drawing(host.current, { nodes, edges }, { label, types, onExpand, onPick: onPick && ((/** @type {any} */ node) => picked.current?.(node.key)) });
        if (focus) drawing.current.show(focus);
      },
      () => setProblem("The picture could not be loaded."),
    );
    return () => {
      isGone = true;
      drawing.current?.destroy();
      drawing.current = null;
    };
  }, [nodes, edges]);
  useEffect(() => {
    if (focus && drawing.current?.focus.selected?.key !== focus) drawing.current?.show(focus);
  }, [focus]);
  return html`<div>
    ${problem ? html`<div class="state">${problem}</div>` : html`<div ref=${host}></div>`}
    <div class="drawing-note tiny quiet">
      <span class="grow">${note}</span>
      <button class="small" aria-expanded=${String(isTable)} onClick=${() => setTable(!isTable)}>${isTable ? "Hide the table" : "As a table"}</button>
    </div>
    ${isTable && html`<div class="beside" tabindex="0" role="region" aria-label="The picture as a table"><${Tables} nodes=${nodes} edges=${edges} /></div>`}
  </div>`;
}
