/** Paints a model: edges and marks into a raster, captions on the canvas above it. */
import { COLOURS } from "./colours.js";
import { Raster, colourOf } from "./raster.js";
import { filled, ring } from "./shapes.js";

/** @typedef {import("./model.js").Node} Node @typedef {import("./model.js").Edge} Edge */
/** @typedef {"circle" | "square" | "diamond" | "triangle"} Shape */

/** Shapes by sign, so that colour is never the only mark of a change. @type {Record<string, Shape>} */
export const SIGN_SHAPES = { "": "circle", "+": "square", "~": "diamond", "-": "circle", "!": "triangle" };
const SIGN_STYLES = { "+": "--plus", "~": "--tilde", "-": "--minus", "!": "--minus" };
const INKS = ["--text", "--quiet", "--card", "--edge", "--accent", "--plus", "--tilde", "--minus"];
const CAPTIONS_MAX = 45;
const CAPTION_CHARS = 34;
const EDGE_NAMES_MAX = 60;
/** Pixels of a usual edge from which it has an arrow, and its type beside it. */
const ARROW_SCALE = 42;
const NAME_SCALE = 120;
const CURVE_STEPS = 10;
/** Milliseconds of a frame above which edges are left out while the drawing moves. */
const SLOW_MS = 24;

/**
 * @typedef {{hovered: Node | Edge | null, selected: Node | null, found: Set<Node> | null, isMoving: boolean}} Focus
 * @typedef {{loop: boolean, points: [number, number][], tip: [number, number], angle: number, middle: [number, number]}} Curve
 */

/** @param {any} thing @returns {thing is Edge} */
export const isEdge = (thing) => thing !== null && "target" in thing;

/** The line of an edge on the screen, as points. @param {Edge} edge @param {import("./camera.js").Camera} camera @returns {Curve} */
export function curveOf(edge, camera) {
  const [x1, y1] = camera.toScreen(edge.source);
  const [x2, y2] = camera.toScreen(edge.target);
  if (edge.source === edge.target) {
    const size = (edge.source.radius + 12 + 10 * edge.bend) / 2;
    const middle = y1 - edge.source.radius - size + 3;
    const points = Array.from({ length: 19 }, (_, i) => /** @type {[number, number]} */ ([x1 + size * Math.sin((i / 9) * Math.PI), middle + size * Math.cos((i / 9) * Math.PI)]));
    return { loop: true, points, tip: points[0], angle: 0, middle: [x1, middle - size] };
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const bend = edge.bend * Math.min(length, 160);
  const [cx, cy] = [(x1 + x2) / 2 - ((y2 - y1) / length) * bend, (y1 + y2) / 2 + ((x2 - x1) / length) * bend];
  const angle = Math.atan2(y2 - cy, x2 - cx);
  const gap = Math.min(edge.target.radius + 2.5, length / 2);
  /** @type {[number, number]} */
  const tip = [x2 - Math.cos(angle) * gap, y2 - Math.sin(angle) * gap];
  if (edge.bend === 0) return { loop: false, points: [[x1, y1], tip], tip, angle, middle: [(x1 + x2) / 2, (y1 + y2) / 2] };
  const points = Array.from({ length: CURVE_STEPS + 1 }, (_, i) => {
    const [t, u] = [i / CURVE_STEPS, 1 - i / CURVE_STEPS];
    return /** @type {[number, number]} */ ([u * u * x1 + 2 * u * t * cx + t * t * tip[0], u * u * y1 + 2 * u * t * cy + t * t * tip[1]]);
  });
  return { loop: false, points, tip, angle, middle: points[CURVE_STEPS / 2] };
}

export class Painter {
  /** @type {Raster | null} */
  #raster = null;
  /** True if a frame with edges takes too long to follow a movement. */
  isSlow = false;
  font = "sans-serif";
  words = { text: "", quiet: "", ground: "" };
  /** Colours of the theme by the names of their variables. @type {Record<string, number>} */
  ink = {};
  colours = COLOURS.map(colourOf);

  /**
   * @param {HTMLCanvasElement} canvas @param {import("./model.js").Model} model @param {import("./camera.js").Camera} camera
   * @param {(type: string) => number} place the number of a type among all types
   */
  constructor(canvas, model, camera, place) {
    this.canvas = canvas;
    this.model = model;
    this.camera = camera;
    this.place = place;
    // Pixels are written by this program, so the canvas stays in the memory of the processor.
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
    this.readStyle();
  }

  /** Read the colours of the theme again. */
  readStyle() {
    const style = getComputedStyle(this.canvas);
    this.font = style.fontFamily;
    // A variable of a style sheet is text; only a colour that is used says what it is in this theme.
    const read = (/** @type {string} */ name) => {
      this.canvas.style.color = `var(${name})`;
      return style.color;
    };
    this.words = { text: read("--text"), quiet: read("--quiet"), ground: read("--card") };
    this.ink = Object.fromEntries(INKS.map((name) => [name, colourOf(read(name))]));
    this.canvas.style.color = "";
  }

  /** @param {Node} node */
  #shape(node) {
    if (node.sign) return SIGN_SHAPES[node.sign];
    const shapes = /** @type {Shape[]} */ (["circle", "square", "diamond"]);
    return this.model.isSigned ? "circle" : shapes[Math.floor(this.place(node.type) / COLOURS.length) % shapes.length];
  }

  /** @param {Node} node */
  #colour(node) {
    if (node.sign) return this.ink[SIGN_STYLES[/** @type {"+"} */ (node.sign)]];
    return this.model.isSigned ? this.ink["--quiet"] : this.colours[this.place(node.type) % COLOURS.length];
  }

  /** @param {number} ratio pixels of the device per pixel of the page @param {Focus} focus */
  paint(ratio, focus) {
    const began = performance.now();
    const { camera, model, canvas, context } = this;
    const [wide, high] = [canvas.width, canvas.height];
    if (!this.#raster || this.#raster.width !== wide || this.#raster.height !== high) this.#raster = new Raster(wide, high);
    const raster = this.#raster;
    raster.clear(this.ink["--card"]);
    const strong = this.#emphasis(focus);
    const drawn = model.edges.filter(model.isDrawn);
    const names = this.isSlow && focus.isMoving ? [] : this.#edges(drawn, ratio, focus, strong);
    // What changed lies above what did not.
    for (const isSigned of [false, true]) for (const node of model.nodes.values()) if (Boolean(node.sign) === isSigned && model.isShown(node)) this.#node(node, ratio, focus, strong);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(raster.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#texts(names, focus, strong);
    const took = performance.now() - began;
    // Measured where edges were drawn: leaving them out must not make the next frame draw them again.
    if (!(this.isSlow && focus.isMoving)) this.isSlow = took > SLOW_MS;
    return camera.scale;
  }

  /** The nodes that stand out; null for all. @param {Focus} focus */
  #emphasis({ hovered, selected, found }) {
    const node = hovered && !isEdge(hovered) ? hovered : selected;
    if (node) return this.model.neighbours(node).add(node);
    return found;
  }

  /** @param {Edge[]} drawn @param {number} ratio @param {Focus} focus @param {Set<Node> | null} strong */
  #edges(drawn, ratio, focus, strong) {
    const { camera } = this;
    const raster = /** @type {Raster} */ (this.#raster);
    const usual = Math.min(200, Math.max(70, 200 * Math.sqrt(400 / Math.max(1, drawn.length))));
    const node = focus.hovered && !isEdge(focus.hovered) ? focus.hovered : focus.selected;
    const hasArrows = camera.scale > ARROW_SCALE;
    const isFew = drawn.length <= EDGE_NAMES_MAX && camera.scale > ARROW_SCALE;
    const hasName = (/** @type {Edge} */ edge) => camera.scale > NAME_SCALE || (isFew && (edge.sign || !this.model.isSigned));
    /** @type {[string, [number, number]][]} */
    const names = [];
    const passes = [drawn.filter((edge) => !this.#isStrong(edge, focus, node)), drawn.filter((edge) => this.#isStrong(edge, focus, node))];
    passes.forEach((edges, isStrong) => {
      for (const edge of edges) {
        const curve = curveOf(edge, camera);
        const isClear = isStrong || !strong || (strong.has(edge.source) && strong.has(edge.target));
        const ink = this.#edgeInk(edge, Boolean(isStrong));
        const strength = isStrong || (edge.sign && isClear) ? 256 : isClear ? usual : 28;
        const dash = edge.sign === "-" ? 5 * ratio : 0;
        const lines = edge.sign || isStrong ? ratio * 1.8 : ratio;
        this.#stroke(raster, curve, ratio, ink, strength, dash, lines);
        if (hasArrows && !curve.loop) this.#arrow(raster, curve, ratio, ink, strength, edge.sign || isStrong ? 9 : 7);
        const name = edge.sign + edge.type;
        const hasRoom = curve.loop || Math.hypot(curve.tip[0] - curve.points[0][0], curve.tip[1] - curve.points[0][1]) > 6 * name.length + 16;
        if (hasRoom && (isStrong || (isClear && hasName(edge)))) names.push([name, curve.middle]);
      }
    });
    return names;
  }

  /** Edges have the colour of the type that they leave, so that groups can be told apart from afar. @param {Edge} edge @param {boolean} isStrong */
  #edgeInk(edge, isStrong) {
    if (edge.sign) return this.ink[SIGN_STYLES[/** @type {"+"} */ (edge.sign)]];
    if (isStrong) return this.ink["--text"];
    return this.model.isSigned ? this.ink["--edge"] : this.colours[this.place(edge.source.type) % COLOURS.length];
  }

  /** @param {Edge} edge @param {Focus} focus @param {Node | null} node */
  #isStrong = (edge, focus, node) => edge === focus.hovered || (node !== null && (edge.source === node || edge.target === node));

  /** @param {Raster} raster @param {Curve} curve @param {number} ratio @param {number} ink @param {number} strength @param {number} dash @param {number} wide */
  #stroke(raster, { points }, ratio, ink, strength, dash, wide) {
    for (let i = 1; i < points.length; i++) {
      const [[x1, y1], [x2, y2]] = [points[i - 1], points[i]];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const [sideX, sideY] = [(y2 - y1) / length, (x1 - x2) / length];
      // A wider line is several of one pixel, side by side.
      const copies = Math.max(1, Math.round(wide));
      for (let copy = 0; copy < copies; copy++) {
        const off = copy - (copies - 1) / 2;
        raster.line(x1 * ratio + sideX * off, y1 * ratio + sideY * off, x2 * ratio + sideX * off, y2 * ratio + sideY * off, ink, strength, dash);
      }
    }
  }

  /** @param {Raster} raster @param {Curve} curve @param {number} ratio @param {number} ink @param {number} strength @param {number} size */
  #arrow(raster, { tip, angle }, ratio, ink, strength, size) {
    for (let spread = -0.42; spread <= 0.43; spread += 0.12) {
      const [x, y] = [tip[0] - size * Math.cos(angle + spread), tip[1] - size * Math.sin(angle + spread)];
      raster.line(tip[0] * ratio, tip[1] * ratio, x * ratio, y * ratio, ink, strength);
    }
  }

  /** @param {Node} node @param {number} ratio @param {Focus} focus @param {Set<Node> | null} strong */
  #node(node, ratio, focus, strong) {
    const raster = /** @type {Raster} */ (this.#raster);
    const [x, y] = this.camera.toScreen(node);
    if (x < -40 || y < -40 || x > this.camera.width + 40 || y > this.camera.height + 40) return;
    const [shape, radius] = [this.#shape(node), node.radius * ratio];
    const strength = strong && !strong.has(node) ? 60 : 256;
    const isPicked = node === focus.hovered || node === focus.selected;
    if (isPicked) raster.stamp(filled(shape, radius + 5 * ratio), x * ratio, y * ratio, this.ink["--accent"], 110);
    // A rim in the colour of the ground keeps marks apart that touch.
    raster.stamp(filled(shape, radius + 1.5 * ratio), x * ratio, y * ratio, this.ink["--card"], strength);
    const isGone = node.sign === "-";
    raster.stamp(filled(shape, radius), x * ratio, y * ratio, this.#colour(node), isGone ? strength * 0.25 : strength);
    if (isGone) raster.stamp(ring(shape, radius, 2 * ratio, true), x * ratio, y * ratio, this.ink["--minus"], strength);
  }

  /** @param {[string, [number, number]][]} names @param {Focus} focus @param {Set<Node> | null} strong */
  #texts(names, focus, strong) {
    const { context, camera, model } = this;
    Object.assign(context, { lineJoin: "round", textAlign: "center", textBaseline: "middle" });
    this.#signs();
    context.font = `12px ${this.font}`;
    const nodes = model.shownNodes().filter((node) => !strong || strong.has(node));
    // Captions keep off the marks that carry a sign.
    const taken = nodes.filter((node) => node.sign).map((node) => /** @type {[number, number, number]} */ ([...camera.toScreen(node), node.radius + 1]));
    const rank = (/** @type {Node} */ node) => (node === focus.hovered || node === focus.selected ? 1e9 : 0) + (node.sign ? 1e6 : 0) + node.edges.length;
    // A text that would cover another one is left out; zooming in makes room for it.
    const write = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ colour) => {
      const half = Math.min(CAPTION_CHARS, text.length) * 3.2 + 4;
      if (taken.some((box) => Math.abs(box[0] - x) < box[2] + half && Math.abs(box[1] - y) < 14)) return;
      taken.push([x, y, half]);
      this.#label(text, x, y, colour);
    };
    const most = taken.length + CAPTIONS_MAX * Math.max(1, camera.scale / 60);
    for (const node of nodes.sort((a, b) => rank(b) - rank(a))) {
      if (taken.length >= most) break;
      const [x, y] = camera.toScreen(node);
      if (x < -60 || y < -20 || x > camera.width + 60 || y > camera.height + 20) continue;
      write(node.label, x, y + node.radius + 9, this.words.text);
    }
    context.font = `11px ${this.font}`;
    for (const [text, [x, y]] of names.slice(-EDGE_NAMES_MAX * 3)) write(text, x, y, this.words.quiet);
  }

  #signs() {
    const { context, camera, model } = this;
    if (!this.model.isSigned) return;
    context.font = `700 13px ${this.font}`;
    context.fillStyle = this.words.ground;
    for (const node of model.shownNodes()) {
      if (!node.sign) continue;
      const [x, y] = camera.toScreen(node);
      context.fillStyle = node.sign === "-" ? this.words.text : this.words.ground;
      context.fillText(node.sign === "-" ? "−" : node.sign, x, y + (node.sign === "!" ? 1.5 : 0.5));
    }
  }

  /** @param {string} text @param {number} x @param {number} y @param {string} colour */
  #label(text, x, y, colour) {
    const { context } = this;
    const shown = text.length > CAPTION_CHARS ? `${text.slice(0, CAPTION_CHARS - 1)}…` : text;
    context.lineWidth = 3.5;
    context.strokeStyle = this.words.ground;
    context.strokeText(shown, x, y);
    context.fillStyle = colour;
    context.fillText(shown, x, y);
  }
}
