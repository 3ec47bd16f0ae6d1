/** Places of the boxes and lines of a schema: forces first, then boxes are pushed apart. Pure arithmetic. */
import { settle } from "../drawing/layout.js";

export const HIGH = 46;
const GAP_X = 72;
const GAP_Y = 40;
const ROUNDS = 80;
const CHAR = 7.4;
const MARGIN = 26;
const LOOP = 16;

/** @typedef {{name: string, x: number, y: number, wide: number}} Box */
/** @typedef {{name: string, path: string, x: number, y: number}} Line */

/** The pairs of node types that each edge type connects. @type {(catalog: any) => {name: string, source: string, target: string}[]} */
const pairsOf = (catalog) => catalog.edges.flatMap((/** @type {any} */ type) => type.ends.map((/** @type {any} */ ends) => ({ name: type.name, ...ends })));

/** Push overlapping boxes apart, along the axis where less is needed. @type {(boxes: Box[]) => void} */
function separate(boxes) {
  for (let round = 0; round < ROUNDS; round++) {
    let isDone = true;
    boxes.forEach((a, i) => {
      for (const b of boxes.slice(i + 1)) {
        const overX = (a.wide + b.wide) / 2 + GAP_X - Math.abs(a.x - b.x);
        const overY = HIGH + GAP_Y - Math.abs(a.y - b.y);
        if (overX <= 0 || overY <= 0) continue;
        isDone = false;
        if (overX < overY) {
          const push = (overX / 2) * (a.x < b.x ? -1 : 1);
          a.x += push;
          b.x -= push;
        } else {
          const push = (overY / 2) * (a.y < b.y ? -1 : 1);
          a.y += push;
          b.y -= push;
        }
      }
    });
    if (isDone) return;
  }
}

/** Boxes that fill a width, and the height that they need. @type {(catalog: any, width: number) => {boxes: Map<string, Box>, height: number}} */
export function placed(catalog, width) {
  const nodes = catalog.nodes.map((/** @type {any} */ type, /** @type {number} */ i) => {
    const [angle, far] = [i * 2.399963, Math.sqrt(i + 0.5)];
    return { key: type.name, x: far * Math.cos(angle), y: far * Math.sin(angle), edges: [] };
  });
  const byName = new Map(nodes.map((/** @type {any} */ node) => [node.key, node]));
  settle(nodes, pairsOf(catalog).map((pair) => ({ source: byName.get(pair.source), target: byName.get(pair.target) })));
  /** @type {Box[]} */
  const boxes = catalog.nodes.map((/** @type {any} */ type, /** @type {number} */ i) => ({ name: type.name, x: nodes[i].x, y: nodes[i].y, wide: Math.min(width - 20, Math.max(104, type.name.length * CHAR + 46)) }));
  const spread = (/** @type {"x" | "y"} */ axis) => Math.max(...boxes.map((box) => box[axis])) - Math.min(...boxes.map((box) => box[axis])) || 1;
  const tall = Math.max(170, 78 * Math.ceil(boxes.length / Math.max(1, Math.floor(width / 260))));
  const scale = { x: (width - 170) / spread("x"), y: tall / spread("y") };
  for (const box of boxes) Object.assign(box, { x: box.x * scale.x, y: box.y * scale.y });
  separate(boxes);
  const left = Math.min(...boxes.map((box) => box.x - box.wide / 2));
  const right = Math.max(...boxes.map((box) => box.x + box.wide / 2));
  // Loops and their names stand above a box.
  const loops = (/** @type {string} */ name) => pairsOf(catalog).filter((pair) => pair.source === name && pair.target === name).length;
  const top = Math.min(...boxes.map((box) => box.y - Math.max(MARGIN, 20 + LOOP * loops(box.name))));
  // Wide schemas are narrowed to the width of the page; lines cross boxes rather than the page scrolling sideways.
  const fit = Math.min(1, (width - 20) / (right - left));
  for (const box of boxes) Object.assign(box, { x: (box.x - (left + right) / 2) * fit + width / 2, y: box.y - top + HIGH / 2 });
  if (fit < 1) separate(boxes);
  for (const box of boxes) box.x = Math.min(width - 8 - box.wide / 2, Math.max(8 + box.wide / 2, box.x));
  return { boxes: new Map(boxes.map((box) => [box.name, box])), height: Math.max(...boxes.map((box) => box.y)) + HIGH / 2 + MARGIN };
}

/** Where a line from the middle of a box leaves it. @type {(box: Box, dx: number, dy: number, gap: number) => [number, number]} */
function border(box, dx, dy, gap) {
  const reach = Math.min((box.wide / 2 + gap) / Math.abs(dx || 1e-6), (HIGH / 2 + gap) / Math.abs(dy || 1e-6));
  return [box.x + dx * reach, box.y + dy * reach];
}

/** The lines of all edge types, one for each pair that a type connects; parallel ones are bent apart, and those to their own box are loops. @type {(catalog: any, boxes: Map<string, Box>) => Line[]} */
export function lines(catalog, boxes) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return pairsOf(catalog).flatMap((type) => {
    const [from, to] = [boxes.get(type.source), boxes.get(type.target)];
    if (!from || !to) return [];
    const pair = [type.source, type.target].sort().join("\n");
    const place = seen.get(pair) ?? 0;
    seen.set(pair, place + 1);
    if (from === to) {
      const [x, y, high] = [from.x + from.wide / 2 - 30, from.y - HIGH / 2, 20 + place * LOOP];
      return [{ name: type.name, path: `M${x - 13} ${y} C${x - 17} ${y - high * 1.3} ${x + 17} ${y - high * 1.3} ${x + 13} ${y - 6}`, x, y: y - high - 4 }];
    }
    const bend = (Math.ceil(place / 2) * (place % 2 ? -1 : 1) + (place ? 0 : 0.001)) * 34 * (type.source < type.target ? 1 : -1);
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const middle = { x: (from.x + to.x) / 2 - ((to.y - from.y) / length) * bend, y: (from.y + to.y) / 2 + ((to.x - from.x) / length) * bend };
    const [x1, y1] = border(from, middle.x - from.x, middle.y - from.y, 0);
    const [x2, y2] = border(to, middle.x - to.x, middle.y - to.y, 6);
    return [{ name: type.name, path: `M${x1} ${y1} Q${middle.x} ${middle.y} ${x2} ${y2}`, x: (x1 + 2 * middle.x + x2) / 4, y: (y1 + 2 * middle.y + y2) / 4 - 5 }];
  });
}
