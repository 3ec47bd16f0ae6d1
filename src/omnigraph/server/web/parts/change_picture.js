/** A change drawn as a graph: changed entities and one hop of context; large changes as bubbles by type, opened by name. */
import { html, useMemo } from "../vendor/core.js";
import { call } from "../api.js";
import { Empty, Show, useLoaded } from "./loading.js";
import { keyOf, Picture } from "./picture.js";

const LEGEND = html`<strong class="plus">+</strong> inserted (square) · <strong class="tilde">~</strong> updated (diamond) · <strong class="minus">−</strong> deleted (dashed) · <strong class="minus">!</strong> conflict (triangle) · grey: unchanged`;

/** Parts of a picture from the answer of the server; entities in conflict are marked. @type {(found: any, conflicts: any[]) => any} */
export function changeParts(found, conflicts) {
  const clashes = new Set(conflicts.map((item) => `${item.type_name}/${item.entity_id}`));
  const nodes = found.nodes.map((/** @type {any} */ node) => ({ key: keyOf(node), type: node.type, label: node.caption, x: node.x, y: node.y, size: node.size, facts: Object.entries(node.facts), sign: clashes.has(keyOf(node)) ? "!" : node.sign }));
  const edges = found.edges.map((/** @type {any} */ edge) => ({ key: `${edge.type}/${edge.id}`, source: nodes[edge.source].key, target: nodes[edge.target].key, type: edge.type, sign: edge.sign, facts: Object.entries(edge.facts) }));
  return { nodes, edges };
}

/** @param {{from: string, to: string, conflicts: any[], type?: string, focus?: string, onType: (name: string) => void}} props */
export function ChangePicture({ from, to, conflicts, type, focus, onType }) {
  const found = useLoaded(() => call("diff/picture", { query: { from, to, type } }), [from, to, type]);
  const drawn = useMemo(() => (found.value ? changeParts(found.value, conflicts) : null), [found.value, conflicts]);
  return html`<section class="card flush" aria-label="Change as a graph">
    <${Show} of=${found} lines=${8}>
      ${(/** @type {any} */ value) =>
        drawn && drawn.nodes.length
          ? html`<${Picture}
              ...${drawn}
              focus=${focus}
              label=${`The change as a graph: ${value.shown}; the list of changes has the same content`}
              note=${html`${value.by_type ? "Many changes, drawn by type; open one for its entities. " : html`${value.shown}. `}${LEGEND} ${type && html`<button class="small" onClick=${() => onType("")}>All types</button>`}`}
              onPick=${value.by_type ? (/** @type {string} */ key) => onType(key.split("/")[0]) : undefined}
            />`
          : html`<${Empty} title="Nothing to draw">The two commits have the same entities.<//>`}
    <//>
  </section>`;
}
