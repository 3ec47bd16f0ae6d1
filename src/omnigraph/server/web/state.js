/** State of the page. Everything that can be shared is in the fragment of the address: graph, screen, ref, text. */
import { signal } from "./vendor/core.js";

const TOKEN = "omnigraph-token";

/**
 * @typedef {{graph: string, screen: string, params: Record<string, string>}} Route
 * @typedef {{actor_id: string | null, graphs: string[]}} Session
 */

/** @type {(hash: string) => Route} */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [graph = "", screen = ""] = path.split("/").map(decodeURIComponent);
  return { graph, screen: screen || "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** @type {(route: Partial<Route>) => string} */
export function address({ graph = route.value.graph, screen = "overview", params = {} }) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(kept).toString();
  return `#/${encodeURIComponent(graph)}/${screen}${query ? `?${query}` : ""}`;
}

/** Address of a screen at the branch or commit that is shown. @type {(screen: string, params?: object) => string} */
export function link(screen, params = {}) {
  const { ref, at } = route.value.params;
  return address({ screen, params: { ref, at, ...params } });
}

/** The token arrives once in the fragment; it is kept for this tab and removed from the address. */
function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(TOKEN) ?? "";
}

export const token = signal(takeToken());
export const route = signal(parseRoute(location.hash));
/** @type {{value: Session | null}} */
export const session = signal(null);
/** @type {{value: "online" | "offline"}} */
export const connection = signal("online");
/** Counts up when everything shown has to be read again. */
export const revision = signal(0);

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

/** The branch or commit that is shown, as requests name it. */
export function target() {
  const { ref, at } = route.value.params;
  return at ? { snapshot: at } : { branch: ref || "main" };
}
