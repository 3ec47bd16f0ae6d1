/** Small pictures as SVG: positions by forces, nodes with shapes and signs, edges that may loop. */
import { html, useMemo } from "../vendor/core.js";

const STEPS = 220;
const SHAPES = { "+": "plus", "~": "tilde", "-": "minus", "!": "clash", "": "plain" };

/**
 * @typedef {{key: string, label: string, note?: string, sign?: string, colour?: number}} Node
 * @typedef {{source: string, target: string, label?: string, sign?: string}} Edge
 */

/** @typedef {{x: number, y: number}} Point */

/** Nodes that are connected, part by part, the largest first. @type {(nodes: Node[], edges: Edge[]) => Node[][]} */
function components(nodes, edges) {
  const parent = new Map(nodes.map((node) => [node.key, node.key]));
  const root = (key) => {
    while (parent.get(key) !== key) key = parent.get(key);
    return key;
  };
  for (const { source, target } of edges) {
    if (parent.has(source) && parent.has(target)) parent.set(root(source), root(target));
  }
  const parts = new Map();
  for (const node of nodes) parts.set(root(node.key), [...(parts.get(root(node.key)) ?? []), node]);
  return [...parts.values()].sort((a, b) => b.length - a.length);
}

/** Positions of connected nodes by repulsion and springs. @type {(nodes: Node[], edges: Edge[], gap: number) => Point[]} */
function forces(nodes, edges, gap) {
  const radius = gap * Math.max(0.5, nodes.length / 6);
  const at = nodes.map((_, i) => {
    const angle = (2 * Math.PI * i) / nodes.length;
    return { x: radius * Math.cos(angle) * (1 + (i % 3) / 9), y: radius * Math.sin(angle) };
  });
  const place = new Map(nodes.map((node, i) => [node.key, i]));
  const springs = edges.map((edge) => [place.get(edge.source), place.get(edge.target)]);
  const push = (move, i, j, force) => {
    const dx = at[i].x - at[j].x || 0.1;
    const dy = at[i].y - at[j].y || 0.1;
    const size = force(Math.hypot(dx, dy));
    move[i].x += dx * size;
    move[i].y += dy * size;
    move[j].x -= dx * size;
    move[j].y -= dy * size;
  };
  for (let step = 0; step < STEPS && nodes.length > 1; step++) {
    const move = at.map(({ x, y }) => ({ x: -x * 0.02, y: -y * 0.05 }));
    for (let i = 0; i < at.length; i++) {
      for (let j = i + 1; j < at.length; j++) push(move, i, j, (far) => (0.4 * gap * gap) / (far * far));
    }
    for (const [from, to] of springs) {
      if (from !== undefined && to !== undefined && from !== to) push(move, from, to, (far) => -0.25 * ((far - gap) / far));
    }
    const heat = gap * 0.6 * (1 - step / STEPS);
    at.forEach((point, i) => {
      const size = Math.hypot(move[i].x, move[i].y) || 1;
      point.x += (move[i].x / size) * Math.min(size, heat);
      point.y += (move[i].y / size) * Math.min(size, heat);
    });
  }
  return at;
}

/** Positions of all nodes: connected parts are laid out alone and put on shelves. The same graph looks the same.
 * @type {(nodes: Node[], edges: Edge[], gap: number) => Map<string, Point>} */
export function layout(nodes, edges, gap) {
  const parts = components(nodes, edges).map((part) => {
    const at = forces(part, edges, gap);
    const [left, top] = [Math.min(...at.map((p) => p.x)), Math.min(...at.map((p) => p.y))];
    const [wide, high] = [Math.max(...at.map((p) => p.x)) - left + gap, Math.max(...at.map((p) => p.y)) - top + gap * 0.8];
    return { part, at, left, top, wide, high };
  });
  const area = parts.reduce((sum, part) => sum + part.wide * part.high, 0);
  const width = Math.max(Math.sqrt(area) * 1.6, ...parts.map((part) => part.wide));
  const found = new Map();
  let [x, y, shelf] = [0, 0, 0];
  for (const { part, at, left, top, wide, high } of parts) {
    if (x > 0 && x + wide > width) [x, y, shelf] = [0, y + shelf, 0];
    part.forEach((node, i) => found.set(node.key, { x: x + at[i].x - left, y: y + at[i].y - top }));
    [x, shelf] = [x + wide, Math.max(shelf, high)];
  }
  return found;
}

/** The line of an edge. Edges between the same nodes are bent apart; an edge to its own node is a loop. */
function path(from, to, bend, size) {
  if (from === to) {
    const far = size * 2.6 + bend * 12;
    return `M${from.x - size * 0.5} ${from.y - size * 0.8} C${from.x - far} ${from.y - far} ${from.x + far} ${from.y - far} ${from.x + size * 0.5} ${from.y - size * 0.8}`;
  }
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const middle = { x: (from.x + to.x) / 2 - uy * bend * 26, y: (from.y + to.y) / 2 + ux * bend * 26 };
  return `M${from.x + ux * size} ${from.y + uy * size} Q${middle.x} ${middle.y} ${to.x - ux * (size + 5)} ${to.y - uy * (size + 5)}`;
}

function middleOf(from, to, bend, size) {
  if (from === to) return { x: from.x, y: from.y - size * 2.2 - bend * 9 };
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  return { x: (from.x + to.x) / 2 - uy * bend * 13, y: (from.y + to.y) / 2 + ux * bend * 13 - 4 };
}

/** @param {{sign?: string, size: number}} props */
function Shape({ sign = "", size }) {
  if (sign === "+") return html`<rect x=${-size} y=${-size} width=${2 * size} height=${2 * size} rx="4" />`;
  if (sign === "~") return html`<polygon points=${`0,${-size * 1.3} ${size * 1.3},0 0,${size * 1.3} ${-size * 1.3},0`} />`;
  return html`<circle r=${size} />`;
}

/** @param {{nodes: Node[], edges: Edge[], size?: number, gap?: number, label: string, onPick?: (key: string) => void}} props */
export function Picture({ nodes, edges, size = 16, gap = 110, label, onPick }) {
  const at = useMemo(() => layout(nodes, edges, gap), [nodes, edges]);
  const points = [...at.values()];
  const [left, right] = [Math.min(...points.map((p) => p.x)), Math.max(...points.map((p) => p.x))];
  const [top, bottom] = [Math.min(...points.map((p) => p.y)), Math.max(...points.map((p) => p.y))];
  const [wide, high] = [Math.max(right - left + 170, 360), Math.max(bottom - top + 140, 190)];
  const view = `${(left + right - wide) / 2} ${(top + bottom - high) / 2} ${wide} ${high}`;
  const seen = new Map();
  return html`<svg class="picture" viewBox=${view} role="img" aria-label=${label}>
    <defs>
      <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
        <path d="M0 0 8 4 0 8z" />
      </marker>
    </defs>
    ${edges.map((edge) => {
      const [from, to] = [at.get(edge.source), at.get(edge.target)];
      if (!from || !to) return null;
      const pair = [edge.source, edge.target].sort().join("\n");
      const number = seen.get(pair) ?? 0;
      seen.set(pair, number + 1);
      const bend = (Math.ceil(number / 2) + (from === to ? 0 : 0.4)) * (number % 2 ? -1 : 1);
      const middle = middleOf(from, to, from === to ? number : bend, size);
      return html`<g class=${`edge ${SHAPES[edge.sign ?? ""]}`}>
        <path d=${path(from, to, from === to ? number : bend, size)} marker-end="url(#tip)" />
        ${edge.label && html`<text x=${middle.x} y=${middle.y}>${edge.sign ?? ""}${edge.label}</text>`}
      </g>`;
    })}
    ${nodes.map(
      (node) => html`<g
        class=${`node ${SHAPES[node.sign ?? ""]} colour-${node.colour ?? 0} ${onPick ? "pick" : ""}`}
        transform=${`translate(${at.get(node.key).x} ${at.get(node.key).y})`}
        tabindex=${onPick ? 0 : undefined}
        onClick=${onPick && (() => onPick(node.key))}
        onKeyDown=${onPick && ((event) => event.key === "Enter" && onPick(node.key))}
      >
        <${Shape} sign=${node.sign} size=${size} />
        ${node.sign && html`<text class="sign" y="5">${node.sign}</text>`}
        <text y=${size + 15}>${node.label}</text>
        ${node.note && html`<text class="note" y=${size + 29}>${node.note}</text>`}
      </g>`,
    )}
  </svg>`;
}
