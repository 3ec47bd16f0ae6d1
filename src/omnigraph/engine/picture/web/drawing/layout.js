/** Positions by forces: nodes push each other away by their degrees, edges pull (ForceAtlas2). The same graph looks the
 * same. Nodes that are far away push as one, by cells of a grid. Positions of many nodes come from the server. */

/** @typedef {import("./model.js").Node} Node @typedef {import("./model.js").Edge} Edge */

const REPULSION = 0.35;
const GRAVITY = 0.06;
const CELLS_PER_SIDE = 12;
const EXACT_MAX = 250;
const GAP = 1.1;
const ASPECT = 1.6;
/** Pairs that all rounds together may compare: about a third of a second. */
const PAIRS_MAX = 24e6;

/** @typedef {{x: number, y: number, mass: number, members: number[]}} Cell */

/** Groups of nodes that push as one: cells of a grid, or one for each node of a small graph. */
function cellsOf(/** @type {Float64Array} */ xs, /** @type {Float64Array} */ ys, /** @type {Float64Array} */ masses) {
  const total = xs.length;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < total; i++) {
    left = Math.min(left, xs[i]);
    right = Math.max(right, xs[i]);
    top = Math.min(top, ys[i]);
    bottom = Math.max(bottom, ys[i]);
  }
  const side = Math.max(right - left, bottom - top, 1e-6) / CELLS_PER_SIDE;
  /** @type {Map<number, Cell>} */
  const cells = new Map();
  for (let i = 0; i < total; i++) {
    const place = Math.floor((xs[i] - left) / side) * 1000 + Math.floor((ys[i] - top) / side);
    const cell = cells.get(place) ?? { x: 0, y: 0, mass: 0, members: [] };
    cells.set(place, cell);
    cell.x += xs[i] * masses[i];
    cell.y += ys[i] * masses[i];
    cell.mass += masses[i];
    cell.members.push(i);
  }
  for (const cell of cells.values()) {
    cell.x /= cell.mass;
    cell.y /= cell.mass;
  }
  return { cells: [...cells.values()], near: total <= EXACT_MAX ? Infinity : 1.6 * side };
}

/** @param {Float64Array} xs @param {Float64Array} ys @param {Float64Array} masses @param {number[]} free */
function repel(xs, ys, masses, free) {
  const { cells, near } = cellsOf(xs, ys, masses);
  const [pushX, pushY] = [new Float64Array(xs.length), new Float64Array(xs.length)];
  for (const i of free) {
    for (const cell of cells) {
      const isFar = Math.hypot(xs[i] - cell.x, ys[i] - cell.y) > near;
      const others = isFar ? 1 : cell.members.length;
      for (let k = 0; k < others; k++) {
        const j = cell.members[k];
        if (!isFar && j === i) continue;
        const dx = xs[i] - (isFar ? cell.x : xs[j]) || (i - j) * 1e-3;
        const dy = ys[i] - (isFar ? cell.y : ys[j]) || 1e-3;
        const size = (REPULSION * masses[i] * (isFar ? cell.mass : masses[j])) / (dx * dx + dy * dy + 0.01);
        pushX[i] += dx * size;
        pushY[i] += dy * size;
      }
    }
    pushX[i] -= GRAVITY * masses[i] * xs[i];
    pushY[i] -= GRAVITY * masses[i] * ys[i];
  }
  return [pushX, pushY];
}

/**
 * Move the free nodes to their places; the others stay where they are.
 * @param {Node[]} nodes @param {Pick<Edge, "source" | "target">[]} edges @param {(node: Node) => boolean} [isFree]
 */
export function settle(nodes, edges, isFree = () => true) {
  const free = nodes.flatMap((node, i) => (isFree(node) ? [i] : []));
  if (nodes.length < 2 || !free.length) return;
  const place = new Map(nodes.map((node, i) => [node, i]));
  const springs = edges.flatMap(({ source, target }) => {
    const [from, to] = [place.get(source), place.get(target)];
    return from === undefined || to === undefined || from === to ? [] : [/** @type {[number, number]} */ ([from, to])];
  });
  const xs = Float64Array.from(nodes, (node) => node.x);
  const ys = Float64Array.from(nodes, (node) => node.y);
  const masses = new Float64Array(nodes.length).fill(1);
  for (const [from, to] of springs) {
    masses[from] += 1;
    masses[to] += 1;
  }
  const work = free.length * (nodes.length <= EXACT_MAX ? nodes.length : CELLS_PER_SIDE ** 2 / 2 + nodes.length / 12);
  const rounds = Math.round(Math.min(260, Math.max(40, PAIRS_MAX / work)));
  for (let round = 0; round < rounds; round++) {
    const [pushX, pushY] = repel(xs, ys, masses, free);
    for (const [from, to] of springs) {
      const [dx, dy] = [xs[to] - xs[from], ys[to] - ys[from]];
      pushX[from] += dx;
      pushY[from] += dy;
      pushX[to] -= dx;
      pushY[to] -= dy;
    }
    // The largest step cools down, so that the layout comes to rest.
    const heat = 0.02 + 0.12 * Math.sqrt(nodes.length) * (1 - round / rounds) ** 2;
    for (const i of free) {
      const size = Math.hypot(pushX[i], pushY[i]) / masses[i] || 1e-9;
      const step = Math.min(size, heat) / (size * masses[i]);
      xs[i] += pushX[i] * step;
      ys[i] += pushY[i] * step;
    }
  }
  if (free.length === nodes.length) pack(xs, ys, springs);
  for (const i of free) Object.assign(nodes[i], { x: xs[i], y: ys[i], isPlaced: true });
}

/** Parts that no edge connects, the largest first, as lists of places. @param {number} total @param {[number, number][]} springs */
function partsOf(total, springs) {
  const parent = Array.from({ length: total }, (_, i) => i);
  const root = (/** @type {number} */ i) => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const [from, to] of springs) parent[root(from)] = root(to);
  /** @type {Map<number, number[]>} */
  const parts = new Map();
  for (let i = 0; i < total; i++) parts.set(root(i), [...(parts.get(root(i)) ?? []), i]);
  return [...parts.values()].sort((a, b) => b.length - a.length);
}

/** Scale each part so that its usual edge is one unit long, and put the parts on shelves.
 * @param {Float64Array} xs @param {Float64Array} ys @param {[number, number][]} springs */
function pack(xs, ys, springs) {
  const lengths = springs.map(([from, to]) => Math.hypot(xs[from] - xs[to], ys[from] - ys[to])).sort((a, b) => a - b);
  const unit = lengths[lengths.length >> 1] || 1;
  const boxes = partsOf(xs.length, springs).map((part) => {
    const [left, top] = [Math.min(...part.map((i) => xs[i])), Math.min(...part.map((i) => ys[i]))];
    for (const i of part) [xs[i], ys[i]] = [(xs[i] - left) / unit, (ys[i] - top) / unit];
    return { part, wide: Math.max(...part.map((i) => xs[i])) + GAP, high: Math.max(...part.map((i) => ys[i])) + GAP };
  });
  const area = boxes.reduce((sum, box) => sum + box.wide * box.high, 0);
  const width = Math.max(Math.sqrt(area * ASPECT), ...boxes.map((box) => box.wide));
  let [x, y, shelf] = [0, 0, 0];
  for (const { part, wide, high } of boxes) {
    if (x > 0 && x + wide > width) [x, y, shelf] = [0, y + shelf, 0];
    for (const i of part) [xs[i], ys[i]] = [xs[i] + x, ys[i] + y];
    [x, shelf] = [x + wide, Math.max(shelf, high)];
  }
}

/** Place new nodes around the one that they were expanded from, then let only them move.
 * @param {import("./model.js").Model} model @param {Node[]} added @param {Node} [around] */
export function settleAround(model, added, around) {
  const free = new Set(added.filter((node) => !node.isPlaced));
  added.forEach((node, i) => {
    if (!around || !free.has(node)) return;
    const angle = (2 * Math.PI * i) / added.length;
    Object.assign(node, { x: around.x + 1.5 * Math.cos(angle), y: around.y + 1.5 * Math.sin(angle) });
  });
  settle([...model.nodes.values()], model.edges, (node) => free.has(node));
}
