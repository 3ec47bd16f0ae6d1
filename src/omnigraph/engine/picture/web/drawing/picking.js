/** What is at a point of the screen, and what is next to a node: for pointers and keys. Pure arithmetic. */
import { curveOf } from "./painter.js";

/** @typedef {import("./model.js").Node} Node @typedef {import("./model.js").Edge} Edge */
/** @typedef {import("./model.js").Model} Model @typedef {import("./camera.js").Camera} Camera */

const REACH_PIXELS = 5;
/** More edges than this are not looked for under the pointer: it takes longer than a frame. */
const EDGES_MAX = 3000;

/** @type {(model: Model, camera: Camera, x: number, y: number) => Node | null} */
export function nodeAt(model, camera, x, y) {
  let [best, least] = [/** @type {Node | null} */ (null), Infinity];
  for (const node of model.nodes.values()) {
    if (!model.isShown(node)) continue;
    const [nodeX, nodeY] = camera.toScreen(node);
    const away = Math.hypot(nodeX - x, nodeY - y);
    if (away < node.radius + REACH_PIXELS && away < least) [best, least] = [node, away];
  }
  return best;
}

/** @type {(model: Model, camera: Camera, x: number, y: number) => Edge | null} */
export function edgeAt(model, camera, x, y) {
  if (model.edges.length > EDGES_MAX) return null;
  const isNear = (/** @type {[number, number]} */ [x1, y1], /** @type {[number, number]} */ [x2, y2]) => {
    const [dx, dy] = [x2 - x1, y2 - y1];
    const along = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(x - x1 - along * dx, y - y1 - along * dy) < REACH_PIXELS;
  };
  const touches = (/** @type {Edge} */ edge) => curveOf(edge, camera).points.some((point, i, all) => i > 0 && isNear(all[i - 1], point));
  return model.edges.find((edge) => model.isDrawn(edge) && touches(edge)) ?? null;
}

/** The nearest shown node in a direction, or the nearest of all to a point that is no node.
 * @type {(model: Model, from: {x: number, y: number}, direction: [number, number]) => Node | null} */
export function nextNode(model, from, [dx, dy]) {
  const isNode = "key" in from;
  let [best, least] = [/** @type {Node | null} */ (null), Infinity];
  for (const node of model.shownNodes()) {
    const [x, y] = [node.x - from.x, node.y - from.y];
    const along = x * dx + y * dy;
    if (isNode && (node === from || along <= 0)) continue;
    // Straight ahead counts less than to the side.
    const cost = isNode ? along + 2 * Math.abs(x * dy - y * dx) : Math.hypot(x, y);
    if (cost < least) [best, least] = [node, cost];
  }
  return best;
}
