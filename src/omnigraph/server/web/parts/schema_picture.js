/** The schema as a picture: a box for each node type, a line for each edge type; and the same as a table. */
import { html, useLayoutEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { colourOfType, typesOf } from "./catalog.js";
import { HIGH, lines, placed } from "./schema_layout.js";
import { count } from "./values.js";

const TYPES_MAX = 60;

/** @param {{catalog: any, onPick: (name: string) => void}} props */
export function SchemaPicture({ catalog, onPick }) {
  const host = useRef(/** @type {any} */ (null));
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const sizes = new ResizeObserver(() => host.current && setWidth(Math.round(host.current.clientWidth)));
    sizes.observe(host.current);
    return () => sizes.disconnect();
  }, []);
  const drawn = useMemo(() => (width > 0 ? placed(catalog, width) : null), [catalog, width]);
  if (catalog.nodes.length > TYPES_MAX) return html`<p class="quiet" ref=${host}>${count(catalog.nodes.length)} node types are too many for a picture; the table has all of them.</p>`;
  return html`<div ref=${host}>
    ${drawn &&
    html`<svg class="schema" viewBox=${`0 0 ${width} ${drawn.height}`} width=${width} height=${drawn.height} role="group" aria-label="The types of the graph and the edges between them; the table below has the same content">
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" /></marker>
      </defs>
      ${lines(catalog, drawn.boxes).map((line) => html`<path class="relation" d=${line.path} marker-end="url(#tip)" />`)}
      ${lines(catalog, drawn.boxes).map((line) => html`<text class="relation-name" x=${line.x} y=${line.y}>${line.name}</text>`)}
      ${catalog.nodes.map((/** @type {any} */ type) => {
        const box = drawn.boxes.get(type.name);
        if (!box) return null;
        return html`<g
          class="pick"
          role="link"
          tabindex="0"
          aria-label=${`${type.name}, ${count(type.count)} nodes`}
          transform=${`translate(${box.x - box.wide / 2} ${box.y - HIGH / 2})`}
          onClick=${() => onPick(type.name)}
          onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && onPick(type.name)}
        >
          <rect class="box" width=${box.wide} height=${HIGH} rx="10" />
          <circle cx="17" cy=${HIGH / 2} r="6" fill=${colourOfType(catalog, type.name)} />
          <text class="name" x="31" y="20">${type.name}</text>
          <text class="count" x="31" y="36">${count(type.count)}</text>
        </g>`;
      })}
    </svg>`}
  </div>`;
}

/** @param {{catalog: any}} props */
export function SchemaTable({ catalog }) {
  return html`<div class="scroll bare" tabindex="0" role="region" aria-label="Types and their properties">
    <table class="grid">
      <thead><tr><th scope="col">Type</th><th scope="col" class="number">Entities</th><th scope="col">Properties</th></tr></thead>
      <tbody>
        ${typesOf(catalog).map(
          (type) => html`<tr>
            <td title=${type.description ?? ""}><strong>${type.name}</strong>${type.source ? html` <span class="quiet">${type.source} → ${type.target}</span>` : ""}</td>
            <td class="number">${count(type.count)}</td>
            <td class="wrap mono">${type.properties.map((/** @type {any} */ property) => `${property.name}: ${property.type}${property.is_key ? " @key" : ""}`).join(", ") || "–"}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
