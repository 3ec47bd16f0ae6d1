/** An interactive drawing of a graph: pointer, wheel, keys, search, legend. The page and the pictures of Python use it. */
import { Camera } from "./camera.js";
import { element, legendOf, toolsOf } from "./furniture.js";
import { settle, settleAround } from "./layout.js";
import { Model } from "./model.js";
import { Painter, isEdge } from "./painter.js";
import { edgeAt, nextNode, nodeAt } from "./picking.js";

/** @typedef {import("./model.js").Node} Node @typedef {import("./model.js").Edge} Edge */
/** @typedef {{nodes: import("./model.js").GivenNode[], edges: import("./model.js").GivenEdge[]}} Given */

/**
 * @typedef {object} Options
 * @property {string} label the name of the drawing for screen readers
 * @property {string[]} [types] all types of the graph: their order decides their colours
 * @property {(node: Node) => void} [onPick] a node was opened
 * @property {(node: Node) => Promise<Given>} [onExpand] read the neighbours of a node
 */

const KEYS = "Arrow keys select a node, with Shift they move the picture; + and - zoom, 0 fits, / finds, Escape ends the selection.";
const PAN_PIXELS = 40;
const STILL_MS = 140;
const DRAG_PIXELS = 4;
const FOCUS_SCALE = 70;
const RATIO_MAX = 2;

export class Drawing {
  camera = new Camera();
  /** @type {import("./painter.js").Focus} */
  focus = { hovered: null, selected: null, found: null, isMoving: false };
  #waiting = false;
  #isMoved = false;
  #stillTimer = 0;
  #ends = new AbortController();
  /** @type {Map<number, [number, number]>} */
  #pointers = new Map();

  /** @param {HTMLElement} host @param {Given} given @param {Options} options */
  constructor(host, given, options) {
    this.host = host;
    this.options = options;
    this.model = new Model(given.nodes, given.edges);
    settle([...this.model.nodes.values()], this.model.edges, (node) => !node.isPlaced);
    const types = options.types ?? Model.counts(given.nodes).map(([name]) => name);
    this.place = (/** @type {string} */ name) => Math.max(0, types.indexOf(name));
    this.canvas = element("canvas", { tabIndex: 0, role: "application", ariaLabel: options.label, title: KEYS });
    this.tools = toolsOf({ find: (text) => this.find(text), next: () => this.#showNextFound(), zoom: (factor) => this.#zoom(factor), fit: () => this.fit() });
    this.legend = element("div", { className: "drawing-legend", role: "group", ariaLabel: "Types shown" });
    this.details = element("div", { className: "drawing-details", hidden: true });
    this.spoken = element("div", { className: "hidden", role: "status" });
    host.classList.add("drawing");
    host.replaceChildren(this.canvas, this.tools.root, this.legend, this.details, this.spoken);
    this.painter = new Painter(this.canvas, this.model, this.camera, this.place);
    this.#listen();
    this.#refresh();
  }

  /** Legend and numbers after the model changed. */
  #refresh() {
    this.legend.replaceChildren(...legendOf(this.model, this.place, () => this.draw()));
    this.host.dataset.drawn = String(this.model.nodes.size);
    this.draw();
  }

  #listen() {
    const { canvas } = this;
    const on = (/** @type {EventTarget} */ target, /** @type {string} */ name, /** @type {(event: any) => void} */ run, options = {}) =>
      target.addEventListener(name, run, { signal: this.#ends.signal, ...options });
    on(canvas, "pointerdown", (event) => this.#press(event));
    on(canvas, "pointermove", (event) => this.#move(event));
    on(canvas, "pointerup", (event) => this.#release(event));
    on(canvas, "pointercancel", (event) => this.#pointers.delete(event.pointerId));
    on(canvas, "pointerleave", () => !this.#pointers.size && this.#hover(null));
    on(canvas, "dblclick", (event) => this.expand(this.nodeAt(...this.#local(event))));
    on(canvas, "wheel", (event) => (event.preventDefault(), this.#zoom(Math.exp(-event.deltaY * 0.0016), ...this.#local(event))), { passive: false });
    on(canvas, "keydown", (event) => this.#key(event));
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.#restyle());
    this.themes = new MutationObserver(() => this.#restyle());
    this.themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.sizes = new ResizeObserver(() => this.#resize());
    this.sizes.observe(this.host);
  }

  destroy() {
    this.#ends.abort();
    this.sizes?.disconnect();
    this.themes?.disconnect();
    clearTimeout(this.#stillTimer);
  }

  #restyle() {
    this.painter.readStyle();
    this.legend.replaceChildren(...legendOf(this.model, this.place, () => this.draw()));
    this.draw();
  }

  #resize() {
    const ratio = this.#ratio();
    const box = this.canvas.getBoundingClientRect();
    Object.assign(this.camera, { width: box.width, height: box.height, above: this.tools.root.offsetHeight + 10, below: this.legend.offsetHeight + 10 });
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    // Until it is moved, the drawing keeps the whole graph in sight. Resizing clears a canvas, so it is painted at once.
    if (!this.#isMoved) this.camera.fit(this.model.shownNodes());
    this.painter.paint(ratio, this.focus);
  }

  #ratio = () => Math.min(RATIO_MAX, globalThis.devicePixelRatio || 1);

  /** Paint with the next frame. */
  draw() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.painter.paint(this.#ratio(), this.focus);
    });
  }

  /** Paint while the drawing moves, and once more when it is still. */
  #moved() {
    this.#isMoved = true;
    this.focus.isMoving = true;
    clearTimeout(this.#stillTimer);
    this.#stillTimer = setTimeout(() => {
      this.focus.isMoving = false;
      this.draw();
    }, STILL_MS);
    this.draw();
  }

  fit() {
    this.#isMoved = false;
    this.camera.fit(this.model.shownNodes());
    this.draw();
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  #zoom(factor, x, y) {
    this.camera.zoom(factor, x, y);
    this.#moved();
  }

  /** Mark the nodes that match a text. @param {string} text @returns {number} */
  find(text) {
    const found = this.model.matching(text);
    this.focus.found = text.trim() ? new Set(found) : null;
    this.draw();
    return found.length;
  }

  /** Select the next node that was found, and bring it into the middle. */
  #showNextFound() {
    const found = [...(this.focus.found ?? [])];
    if (!found.length) return;
    this.show(found[(found.indexOf(/** @type {Node} */ (this.focus.selected)) + 1) % found.length].key);
  }

  /** Select a node by its key and bring it into the middle. @param {string} key */
  show(key) {
    const node = this.model.nodes.get(key);
    if (!node) return;
    this.camera.scale = Math.max(this.camera.scale, FOCUS_SCALE);
    [this.camera.x, this.camera.y] = [node.x, node.y];
    this.#isMoved = true;
    this.select(node);
  }

  /** @param {Node | null} node */
  select(node) {
    this.focus.selected = node;
    this.focus.hovered = null;
    this.#describe();
    this.spoken.textContent = node ? `${node.label}, ${node.type}, ${node.edges.length} ${node.edges.length === 1 ? "edge" : "edges"} shown` : "";
    this.draw();
  }

  /** Add the neighbours of a node to the drawing. @param {Node | null} node */
  async expand(node) {
    if (!node || !this.options.onExpand) return;
    this.host.dataset.busy = "true";
    try {
      const { nodes, edges } = await this.options.onExpand(node);
      const added = this.model.add(nodes, edges);
      settleAround(this.model, added, node);
      this.select(node);
      this.spoken.textContent = added.length ? `${added.length} neighbours of ${node.label} were added` : `all neighbours of ${node.label} are shown`;
      this.#refresh();
    } finally {
      delete this.host.dataset.busy;
    }
  }

  #describe() {
    const thing = this.focus.hovered ?? this.focus.selected;
    this.details.hidden = !thing;
    if (!thing) return;
    const title = isEdge(thing) ? `${thing.source.label} → ${thing.target.label}` : thing.label;
    const list = element("dl");
    for (const [name, value] of [/** @type {[string, string]} */ (["type", thing.type]), ...thing.facts]) list.append(element("dt", { textContent: name }), element("dd", { textContent: value }));
    const buttons = [];
    if (!isEdge(thing) && thing === this.focus.selected) {
      const { onPick, onExpand } = this.options;
      if (onPick) buttons.push(element("button", { type: "button", textContent: "Open", title: "Enter", onclick: () => onPick(thing) }));
      if (onExpand) buttons.push(element("button", { type: "button", textContent: "Expand", title: "e, or a double click", onclick: () => this.expand(thing) }));
    }
    this.details.classList.toggle("held", buttons.length > 0);
    this.details.replaceChildren(element("strong", { textContent: title }), list, ...buttons);
  }

  /** @param {Node | Edge | null} thing */
  #hover(thing) {
    if (thing === this.focus.hovered) return;
    this.focus.hovered = thing;
    this.canvas.style.cursor = thing ? "pointer" : "";
    this.#describe();
    this.draw();
  }

  /** @param {MouseEvent} event @returns {[number, number]} */
  #local(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {number} x @param {number} y @returns {Node | null} */
  nodeAt = (x, y) => nodeAt(this.model, this.camera, x, y);

  /** @param {PointerEvent} event */
  #press(event) {
    const [x, y] = this.#local(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, [x, y]);
    this.pressed = { x, y, node: this.#pointers.size === 1 ? this.nodeAt(x, y) : null, isDragged: false };
    this.spread = 0;
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const [x, y] = this.#local(event);
    const last = this.#pointers.get(event.pointerId);
    const { pressed } = this;
    if (!last || !pressed) return this.#hover(this.nodeAt(x, y) ?? edgeAt(this.model, this.camera, x, y));
    this.#pointers.set(event.pointerId, [x, y]);
    pressed.isDragged ||= Math.hypot(x - pressed.x, y - pressed.y) > DRAG_PIXELS;
    if (this.#pointers.size === 2) {
      const [a, b] = [...this.#pointers.values()];
      const apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (this.spread) this.#zoom(apart / this.spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      this.spread = apart;
    } else if (pressed.isDragged && pressed.node) {
      [pressed.node.x, pressed.node.y] = this.camera.toWorld(x, y);
      this.#moved();
    } else if (pressed.isDragged) {
      this.camera.pan(x - last[0], y - last[1]);
      this.#moved();
    }
  }

  /** @param {PointerEvent} event */
  #release(event) {
    this.#pointers.delete(event.pointerId);
    if (this.pressed && !this.pressed.isDragged) this.select(this.pressed.node);
    if (!this.#pointers.size) this.pressed = undefined;
  }

  /** Select the next node in a direction. @param {[number, number]} direction */
  #step(direction) {
    const best = nextNode(this.model, this.focus.selected ?? this.camera, direction);
    if (!best) return;
    const [x, y] = this.camera.toScreen(best);
    if (x < 20 || y < 20 || x > this.camera.width - 20 || y > this.camera.height - 20) [this.camera.x, this.camera.y] = [best.x, best.y];
    this.select(best);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const directions = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
    const direction = directions[event.key];
    const { selected } = this.focus;
    /** @type {Record<string, () => void>} */
    const keys = {
      "+": () => this.#zoom(1.25),
      "=": () => this.#zoom(1.25),
      "-": () => this.#zoom(0.8),
      0: () => this.fit(),
      "/": () => this.tools.input.focus(),
      e: () => void this.expand(selected),
      Enter: () => selected && this.options.onPick?.(selected),
      Escape: () => this.select(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || (!direction && !keys[event.key])) return;
    event.preventDefault();
    event.stopPropagation();
    if (!direction) return keys[event.key]();
    if (!event.shiftKey) return this.#step(direction);
    this.camera.pan(-direction[0] * PAN_PIXELS, -direction[1] * PAN_PIXELS);
    this.#moved();
  }
}
