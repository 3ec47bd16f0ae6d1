/** The nodes and edges of a drawing: degrees, parallel edges, hidden types, search. Knows nothing about pixels. */

/**
 * @typedef {[string, string][]} Facts names and values that describe an entity, as texts
 * @typedef {{key: string, type: string, label: string, x?: number, y?: number, sign?: string, size?: number, facts?: Facts}} GivenNode
 * @typedef {{source: string, target: string, type: string, key?: string, sign?: string, facts?: Facts}} GivenEdge
 * @typedef {{key: string, type: string, label: string, x: number, y: number, sign: string, facts: Facts, edges: Edge[],
 *   size: number, radius: number, isPlaced: boolean}} Node
 * @typedef {{source: Node, target: Node, type: string, key: string, sign: string, facts: Facts, bend: number}} Edge
 */

const GOLDEN_ANGLE = 2.399963;
const BEND = 0.3;

export class Model {
  /** @type {Map<string, Node>} */
  nodes = new Map();
  /** @type {Edge[]} */
  edges = [];
  /** Names of types that are not drawn. @type {Set<string>} */
  hidden = new Set();
  /** True in a picture of a change. */
  isSigned = false;
  /** @type {Set<string>} */
  #edgeKeys = new Set();

  /** @param {GivenNode[]} nodes @param {GivenEdge[]} edges */
  constructor(nodes, edges) {
    this.add(nodes, edges);
  }

  /** Add what is not there yet; returns the new nodes. @param {GivenNode[]} nodes @param {GivenEdge[]} edges */
  add(nodes, edges) {
    const added = [];
    for (const { key, type, label, x, y, sign = "", size = 0, facts = [] } of nodes) {
      if (this.nodes.has(key)) continue;
      // A spiral is a start without overlaps, and always the same one.
      const number = this.nodes.size;
      const [angle, far] = [number * GOLDEN_ANGLE, Math.sqrt(number + 0.5)];
      const node = { key, type, label, sign, size, facts, edges: [], radius: 1, isPlaced: x !== undefined, x: x ?? far * Math.cos(angle), y: y ?? far * Math.sin(angle) };
      this.nodes.set(key, node);
      added.push(node);
    }
    for (const edge of edges) this.#join(edge);
    this.#bend();
    // Marks of a crowded drawing are smaller.
    const size = Math.min(1.3, Math.max(0.6, Math.sqrt(150 / Math.max(1, this.nodes.size))));
    this.isSigned ||= added.some((node) => node.sign);
    for (const node of this.nodes.values()) node.radius = node.size || this.#radius(node, size);
    return added;
  }

  /** In a picture of a change, what did not change stands back. @param {Node} node @param {number} size */
  #radius(node, size) {
    if (this.isSigned) return node.sign ? 9.5 : 4.5;
    return Math.min(15, 4.5 + 1.5 * Math.sqrt(node.edges.length)) * size;
  }

  /** @param {GivenEdge} given */
  #join({ source, target, type, sign = "", facts = [], key = `${source}\n${target}\n${type}` }) {
    const [from, to] = [this.nodes.get(source), this.nodes.get(target)];
    if (!from || !to || this.#edgeKeys.has(key)) return;
    const edge = { source: from, target: to, type, key, sign, facts, bend: 0 };
    this.#edgeKeys.add(key);
    this.edges.push(edge);
    from.edges.push(edge);
    if (to !== from) to.edges.push(edge);
  }

  /** Parallel edges bend away from each other; a bend has a sign relative to the direction of its edge. */
  #bend() {
    /** @type {Map<string, Edge[]>} */
    const pairs = new Map();
    for (const edge of this.edges) {
      const pair = [edge.source.key, edge.target.key].sort().join("\n");
      pairs.set(pair, [...(pairs.get(pair) ?? []), edge]);
    }
    for (const together of pairs.values()) {
      together.forEach((edge, place) => {
        const sign = edge.source.key <= edge.target.key ? 1 : -1;
        edge.bend = edge.source === edge.target ? place : sign * (place - (together.length - 1) / 2) * BEND;
      });
    }
  }

  /** @param {Node} node */
  isShown = (node) => !this.hidden.has(node.type);

  /** @param {Edge} edge */
  isDrawn = (edge) => !this.hidden.has(edge.type) && this.isShown(edge.source) && this.isShown(edge.target);

  shownNodes() {
    return [...this.nodes.values()].filter(this.isShown);
  }

  /** The nodes at the other ends of the drawn edges of a node. @param {Node} node */
  neighbours(node) {
    return new Set(node.edges.filter(this.isDrawn).map((edge) => (edge.source === node ? edge.target : edge.source)));
  }

  /** Nodes with a text in their name, id or facts. @param {string} text */
  matching(text) {
    const wanted = text.trim().toLowerCase();
    const fits = (/** @type {Node} */ node) =>
      node.label.toLowerCase().includes(wanted) || node.key.toLowerCase().includes(wanted) || node.facts.some(([, value]) => value.toLowerCase().includes(wanted));
    return wanted ? this.shownNodes().filter(fits) : [];
  }

  /** Types with their numbers, by name. @type {(items: Iterable<{type: string}>) => [string, number][]} */
  static counts(items) {
    /** @type {Map<string, number>} */
    const found = new Map();
    for (const { type } of items) found.set(type, (found.get(type) ?? 0) + 1);
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
