/** The drawing of a saved picture, made from the data in its document. */
import { Drawing } from "./drawing/drawing.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const data = JSON.parse(byId("data").textContent ?? "");
const keys = data.nodes.map((/** @type {any[]} */ [, , type, , id]) => `${data.nodeTypes[type].name}/${id}`);
const nodes = data.nodes.map((/** @type {any[]} */ [x, y, type, label, , facts, sign, size], /** @type {number} */ i) => ({ key: keys[i], type: data.nodeTypes[type].name, label, x, y, facts, sign, size }));
const edges = data.edges.map((/** @type {any[]} */ [source, target, type, facts, sign], /** @type {number} */ i) => ({ key: String(i), source: keys[source], target: keys[target], type: data.edgeTypes[type].name, facts, sign }));
new Drawing(byId("drawing"), { nodes, edges }, { label: byId("drawing").dataset.label ?? "", types: data.nodeTypes.map((/** @type {{name: string}} */ type) => type.name) });
