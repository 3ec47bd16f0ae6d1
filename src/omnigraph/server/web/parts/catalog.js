/** The types of the graph that is shown, read once per commit, and their colours: the same on every screen. */
import { html } from "../vendor/core.js";
import { call } from "../api.js";
import { COLOURS } from "../drawing/colours.js";
import { moment, target } from "../state.js";
import { useLoaded } from "./loading.js";

export const useCatalog = () => useLoaded(() => call("catalog", { query: target() }), moment());

/** All types, nodes first. @type {(catalog: any) => any[]} */
export const typesOf = (catalog) => [...catalog.nodes, ...catalog.edges];

/** Names of node types in the order that decides their colours. @type {(catalog: any) => string[]} */
export const nodeNames = (catalog) => catalog.nodes.map((/** @type {any} */ type) => type.name).sort();

/** @type {(catalog: any, name: string) => string} */
export const colourOfType = (catalog, name) => COLOURS[Math.max(0, nodeNames(catalog).indexOf(name)) % COLOURS.length];

/** The mark of a type beside its name. @param {{catalog: any, type: any}} props */
export const TypeDot = ({ catalog, type }) => html`<span class=${`dot ${type.kind}`} style=${{ background: colourOfType(catalog, type.kind === "edge" ? type.ends[0].source : type.name) }}></span>`;
