/** The bar of every screen: graph, branch or commit, screens, health, actor, theme. */
import { html, useEffect } from "../vendor/core.js";
import { call } from "../api.js";
import { address, connection, forgetToken, go, link, notice, revision, route, session, shownCommit } from "../state.js";
import { useLoaded } from "./loading.js";
import { RefPicker } from "./ref_picker.js";

const THEME = "omnigraph-theme";

/** @type {(theme: string | null) => void} */
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}
setTheme(localStorage.getItem(THEME));

function toggleTheme() {
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const next = isDark ? "light" : "dark";
  localStorage.setItem(THEME, next);
  setTheme(next);
}

/** A link that names the commit, so that it shows the same entities at any time. */
async function share() {
  const { screen, params } = route.value;
  const pinned = shownCommit.value && screen !== "review" && screen !== "jobs" ? { ...params, at: shownCommit.value, ref: "" } : params;
  const url = new URL(address({ ...route.value, params: pinned }), location.href).href;
  history.replaceState(null, "", url);
  await navigator.clipboard?.writeText(url).catch(() => undefined);
  dispatchEvent(new HashChangeEvent("hashchange"));
  notice.value = pinned === params ? "The link was copied." : "The link was copied. It names the commit, so it shows the same entities at any time.";
}

/** @param {{screens: Record<string, any[]>, current: string, onHelp: () => void}} props */
export function Bar({ screens, current, onHelp }) {
  const { graph } = route.value;
  const branches = useLoaded(() => (graph ? call("branches") : Promise.resolve({ branches: [] })), [graph]);
  useEffect(() => {
    const again = () => {
      if (document.visibilityState === "visible") revision.value += 1;
    };
    document.addEventListener("visibilitychange", again);
    return () => document.removeEventListener("visibilitychange", again);
  }, []);
  const names = branches.value?.branches ?? ["main"];
  const graphs = session.value?.graphs ?? [];
  return html`<header class="bar">
    <a class="brand" href=${address({})} aria-label="Omnigraph: overview"><img src="icon.svg" alt="" width="24" height="24" /><span>Omnigraph</span></a>
    <label class="inline"><span class="hidden">Graph</span>
      <select name="graph" value=${graph} onChange=${(/** @type {any} */ event) => go(address({ graph: event.target.value, screen: current }))}>
        ${[...new Set([graph, ...graphs])].map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
    ${graph && html`<${RefPicker} branches=${names} />`}
    <nav aria-label="Screens">
      ${Object.entries(screens).map(
        ([name, [key, title]]) => html`<a href=${link(name)} aria-current=${name === current ? "page" : undefined} title=${`${title} (g ${key})`}>${title}</a>`,
      )}
    </nav>
    <span class="grow"></span>
    <span class=${`health ${connection.value}`} role="status" title=${connection.value}>${connection.value === "online" ? "●" : "▲"} <span>${connection.value}</span></span>
    <span class="actor" title="The actor of this token">${session.value?.actor_id ?? "anonymous"}</span>
    <button class="plain icon" aria-label="Copy a link to this" title="Copy a link to this" onClick=${share}>
      <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true"><path d="M6.500 9.500l3-3M7 4.500l1.500-1.500a3 3 0 014.200 4.200L11 9M9 11.500L7.500 13a3 3 0 01-4.200-4.200L5 7" /></svg>
    </button>
    <button class="plain icon" aria-label="Light or dark" title="Light or dark" onClick=${toggleTheme}>◐</button>
    <button class="plain icon by-keys" aria-label="Keys" title="Keys (?)" onClick=${onHelp}>?</button>
    ${session.value?.actor_id &&
    html`<button class="plain sign-out" aria-label="Sign out" title=${`Sign out ${session.value.actor_id}`} onClick=${forgetToken}>
      <span>Sign out</span><svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true"><path d="M6.500 2.500h-3v11h3M7 8h6.500M11 5.500L13.500 8 11 10.500" /></svg>
    </button>`}
  </header>`;
}
