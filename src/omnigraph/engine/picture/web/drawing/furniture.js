/** What stands around a drawing: the search field, the buttons, and the legend whose entries hide types. */
import { COLOURS } from "./colours.js";
import { Model } from "./model.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties; text of a graph is only ever set as text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name @param {Record<string, any>} [properties] @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]} */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/**
 * @param {{find: (text: string) => number, next: () => void, zoom: (factor: number) => void, fit: () => void}} actions
 */
export function toolsOf(actions) {
  const matches = element("span", { role: "status", className: "drawing-matches" });
  const input = element("input", { type: "search", placeholder: "Find", ariaLabel: "Find nodes by name, id or property", autocomplete: "off" });
  input.addEventListener("input", () => {
    const found = actions.find(input.value);
    matches.textContent = input.value.trim() ? `${found.toLocaleString("en")} ${found === 1 ? "match" : "matches"}` : "";
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") actions.next();
    event.stopPropagation();
  });
  const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ run) => element("button", { type: "button", textContent: text, ariaLabel: label, title: label, onclick: run });
  const buttons = element("span", { className: "drawing-buttons" }, button("−", "Zoom out", () => actions.zoom(1 / 1.3)), button("+", "Zoom in", () => actions.zoom(1.3)), button("Fit", "Show everything", actions.fit));
  return { root: element("div", { className: "drawing-tools" }, input, matches, buttons), input };
}

/** @type {(name: string, properties: Record<string, string | number>) => SVGElement} */
function shape(name, properties) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, String(value));
  return made;
}

/** @type {(place: number, isEdge: boolean, isSigned: boolean) => SVGElement} */
function swatch(place, isEdge, isSigned) {
  const mark = shape("svg", { width: 14, height: 12, "aria-hidden": "true" });
  const colour = isSigned ? "currentColor" : COLOURS[place % COLOURS.length];
  const forms = [
    shape("circle", { cx: 7, cy: 6, r: 5, fill: colour }),
    shape("rect", { x: 2.5, y: 1.5, width: 9, height: 9, fill: colour }),
    shape("path", { d: "M7 0l6 6-6 6-6-6z", fill: colour }),
  ];
  const arrow = shape("path", { d: "M1 6h9M7 3l4 3-4 3", fill: "none", stroke: "currentColor", "stroke-width": 1.4 });
  mark.append(isEdge ? arrow : forms[isSigned ? 0 : Math.floor(place / COLOURS.length) % forms.length]);
  return mark;
}

/** Buttons of all types, nodes first. @param {Model} model @param {(type: string) => number} place @param {() => void} onChange */
export function legendOf(model, place, onChange) {
  const entry = (/** @type {boolean} */ isEdge) => (/** @type {[string, number]} */ [name, count]) => {
    const button = element("button", { type: "button", ariaPressed: String(!model.hidden.has(name)) }, element("span", { textContent: name }), element("small", { textContent: count.toLocaleString("en") }));
    button.prepend(swatch(place(name), isEdge, model.isSigned));
    button.addEventListener("click", () => {
      if (!model.hidden.delete(name)) model.hidden.add(name);
      button.ariaPressed = String(!model.hidden.has(name));
      onChange();
    });
    return button;
  };
  return [...Model.counts(model.nodes.values()).map(entry(false)), ...Model.counts(model.edges).map(entry(true))];
}
