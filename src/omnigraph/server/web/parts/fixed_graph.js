/** The graph that sigma draws and ForceAtlas2 lays out: the part of graphology's interface that they call.
 * It does not change after it was made, so that there is nothing to listen to. */
export class FixedGraph {
  multi = true;

  /** @param {[string, any][]} nodes @param {{source: string, target: string, [name: string]: any}[]} edges */
  constructor(nodes, edges) {
    this.byKey = new Map(nodes);
    this.edgeList = edges.filter(({ source, target }) => this.byKey.has(source) && this.byKey.has(target));
    this.order = this.byKey.size;
    this.size = this.edgeList.length;
  }

  on() {}
  removeListener() {}
  addUndirectedEdgeWithKey() {}
  dropNode() {}
  nodes = () => [...this.byKey.keys()];
  edges = () => this.edgeList.map((_, i) => String(i));
  /** @param {string} key */
  hasNode = (key) => this.byKey.has(key);
  /** @param {string} key */
  hasEdge = (key) => this.edgeList[Number(key)] !== undefined;
  /** @param {string} key */
  getNodeAttributes = (key) => this.byKey.get(key);
  /** @param {string} key @param {string} name */
  getNodeAttribute = (key, name) => this.byKey.get(key)[name];
  /** @param {string} key @param {string} name @param {any} value */
  setNodeAttribute = (key, name, value) => (this.byKey.get(key)[name] = value);
  /** @param {string} key */
  getEdgeAttributes = (key) => this.edgeList[Number(key)];
  /** @param {string} key */
  extremities = (key) => [this.edgeList[Number(key)].source, this.edgeList[Number(key)].target];

  /** @param {(key: string, attributes: any) => void} visit */
  forEachNode(visit) {
    this.byKey.forEach((attributes, key) => visit(key, attributes));
  }

  /** @param {(key: string, attributes: any, source: string, target: string, from: any, to: any, undirected: boolean) => void} visit */
  forEachEdge(visit) {
    this.edgeList.forEach((edge, i) => visit(String(i), edge, edge.source, edge.target, this.byKey.get(edge.source), this.byKey.get(edge.target), false));
  }

  /** @param {(key: string, attributes: any) => any} update */
  updateEachNodeAttributes(update) {
    this.byKey.forEach((attributes, key) => this.byKey.set(key, update(key, attributes)));
  }
}
