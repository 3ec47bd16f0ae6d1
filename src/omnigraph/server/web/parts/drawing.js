/** A large picture with sigma: WebGL, positions of the server or ForceAtlas2. Loaded when something is drawn. */
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { FixedGraph } from "./fixed_graph.js";

const COLOURS = ["#7a7af0", "#2fa58d", "#e08a3c", "#d1568f", "#4a97dd", "#9a9f3a", "#a86fd6", "#7d8796"];
const STEPS = 120;

/**
 * @typedef {{key: string, label: string, type: string, x?: number, y?: number}} Node
 * @typedef {{source: string, target: string, type: string}} Edge
 */

/** @type {(library: any, nodes: Node[], edges: Edge[]) => FixedGraph} */
function graphOf({ forceAtlas2 }, nodes, edges) {
  const types = [...new Set(nodes.map((node) => node.type))].sort();
  const degrees = new Map();
  for (const end of edges.flatMap((edge) => [edge.source, edge.target])) degrees.set(end, (degrees.get(end) ?? 0) + 1);
  const placed = nodes.map((node, i) => {
    // A spiral is a start without overlaps, and always the same one.
    const [angle, far] = [i * 2.399963, Math.sqrt(i + 1)];
    const attributes = {
      label: node.label,
      x: node.x ?? far * Math.cos(angle),
      y: node.y ?? far * Math.sin(angle),
      size: Math.min(14, 5 + Math.sqrt(degrees.get(node.key) ?? 0)),
      color: COLOURS[types.indexOf(node.type) % COLOURS.length],
    };
    return /** @type {[string, any]} */ ([node.key, attributes]);
  });
  const graph = new FixedGraph(placed, edges.map(({ source, target }) => ({ source, target, size: 1 })));
  if (nodes.some((node) => node.x === undefined) && graph.order > 1) {
    const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: graph.order > 500 };
    forceAtlas2.assign(graph, { iterations: STEPS, settings });
  }
  return graph;
}

/** @param {{nodes: Node[], edges: Edge[], label: string, onPick?: (key: string) => void}} props */
export function Drawing({ nodes, edges, label, onPick }) {
  const host = useRef(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let sigma = null;
    let isGone = false;
    import("../vendor/graph.js")
      .then((library) => {
        if (isGone) return;
        const style = getComputedStyle(document.documentElement);
        const text = getComputedStyle(document.body).color;
        sigma = new library.Sigma(graphOf(library, nodes, edges), host.current, {
          labelColor: { color: text },
          labelFont: style.fontFamily,
          defaultEdgeColor: "#a3abb9",
          hideEdgesOnMove: nodes.length > 1000,
          allowInvalidContainer: true,
          // The background of hovered labels is white in sigma.
          defaultDrawNodeHover: () => undefined,
        });
        sigma.on("clickNode", ({ node }) => onPick?.(node));
        host.current.dataset.drawn = String(nodes.length);
      })
      .catch(() => setProblem("This browser cannot draw the picture: it has no WebGL."));
    return () => {
      isGone = true;
      sigma?.kill();
    };
  }, [nodes, edges]);
  if (problem) return html`<div class="state quiet">${problem}</div>`;
  return html`<div class="drawing" ref=${host} role="img" aria-label=${label}></div>`;
}
