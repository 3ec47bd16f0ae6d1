/** State of the page. Everything that can be shared is in the fragment of the address: graph, screen, ref, text. */
import { signal } from "./vendor/core.js";

const TOKEN = "omnigraph-token";

/**
 * @typedef {Record<string, string>} Params
 * @typedef {{graph: string, screen: string, params: Params}} Route
 * @typedef {{actor_id: string | null, graphs: string[], may_list: boolean}} Session
 */

/** @type {(hash: string) => Route} */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [graph = "", screen = ""] = path.split("/").map(decoded);
  return { graph, screen: screen || "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** A part of an address; one that was cut in the middle of a character is taken as it is. @type {(text: string) => string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @type {(route: {graph?: string, screen?: string, params?: Record<string, any>}) => string} */
export function address({ graph = route.value.graph, screen = "overview", params = {} }) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${encodeURIComponent(graph)}/${screen}${query ? `?${query}` : ""}`;
}

/** Address of a screen at the branch or commit that is shown. @type {(screen: string, params?: Record<string, any>) => string} */
export function link(screen, params = {}) {
  const { ref, at } = route.value.params;
  return address({ screen, params: { ref, at, ...params } });
}

/** The token arrives once in the fragment; it is kept for this tab and removed from the address. */
function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(TOKEN, decoded(found[1]));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(TOKEN) ?? "";
}

export const token = signal(takeToken());
export const route = signal(parseRoute(location.hash));
export const session = signal(/** @type {Session | null} */ (null));
export const connection = signal(/** @type {"online" | "offline"} */ ("online"));
/** Counts up when everything shown has to be read again. */
export const revision = signal(0);
/** The commit that the screen shows, for links that stay true. */
export const shownCommit = signal("");
/** A short message about what was just done. */
export const notice = signal("");

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    token.value = takeToken();
    revision.value += 1;
  }
  route.value = parseRoute(location.hash);
});

/** True after the server has refused a token. */
export const refused = signal(false);

/** @type {(text: string) => void} */
export function keepToken(text) {
  sessionStorage.setItem(TOKEN, text);
  refused.value = false;
  token.value = text;
}

/** Forget a token that the server refused, unless another one was entered since. @type {(text: string) => void} */
export function refuseToken(text) {
  if (token.value !== text) return;
  forgetToken();
  if (text) refused.value = true;
}

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
  token.value = "";
  session.value = null;
}

/** Change parameters of the address. @type {(changes: Record<string, any>, replace?: boolean) => void} */
export function setParams(changes, replace = false) {
  const next = address({ ...route.value, params: { ...route.value.params, ...changes } });
  if (next === location.hash) return;
  if (replace) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  route.value = parseRoute(next);
}

/** @type {(hash: string) => void} */
export function go(hash) {
  location.hash = hash;
}

/** The branch or commit that is shown, as requests name it. @type {() => {snapshot?: string, branch?: string}} */
export function target() {
  const { ref, at } = route.value.params;
  return at ? { snapshot: at } : { branch: ref || "main" };
}

/** The inputs that say which entities are shown: reads that depend on them are repeated. */
export const moment = () => [route.value.graph, route.value.params.ref, route.value.params.at];

/** JSON of the address, or another value if someone cut the link. @template T @param {string | undefined} text @param {T} otherwise @returns {T} */
export function parsed(text, otherwise) {
  try {
    return text ? JSON.parse(text) : otherwise;
  } catch {
    return otherwise;
  }
}
