/** The bar of every screen: graph, branch or commit, screens, health, actor, theme. */
import { html, useEffect } from "../vendor/core.js";
import { call } from "../api.js";
import { address, connection, forgetToken, go, link, revision, route, session, setParams } from "../state.js";
import { useLoaded } from "./loading.js";
import { short } from "./values.js";

const THEME = "omnigraph-theme";

/** @type {(theme: string | null) => void} */
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}
setTheme(localStorage.getItem(THEME));

function toggleTheme() {
  const isDark = getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim() === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const next = isDark ? "light" : "dark";
  localStorage.setItem(THEME, next);
  setTheme(next);
}

/** @param {{screens: Record<string, any[]>, current: string, onHelp: () => void}} props */
export function Bar({ screens, current, onHelp }) {
  const { graph, params } = route.value;
  const branches = useLoaded(() => (graph ? call("branches") : Promise.resolve({ branches: [] })), [graph]);
  useEffect(() => {
    const again = () => document.visibilityState === "visible" && (revision.value += 1);
    document.addEventListener("visibilitychange", again);
    return () => document.removeEventListener("visibilitychange", again);
  }, []);
  const names = branches.value?.branches ?? ["main"];
  return html`<header class="bar">
    <a class="brand" href=${address({})} aria-label="Omnigraph"><img src="icon.svg" alt="" width="22" height="22" /></a>
    <label class="inline"><span class="hidden">Graph</span>
      <select name="graph" value=${graph} onChange=${(event) => go(address({ graph: event.target.value, screen: current }))}>
        ${[...new Set([graph, ...session.value.graphs])].map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
    <label class="inline"><span class="hidden">Branch</span>
      <select name="ref" value=${params.at ? "" : params.ref || "main"} onChange=${(event) => setParams({ ref: event.target.value, at: "" })}>
        ${params.at && html`<option value="">@${short(params.at)}</option>`}
        ${names.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
    <nav aria-label="Screens">
      ${Object.entries(screens).map(
        ([name, [key, title]]) => html`<a href=${link(name)} aria-current=${name === current ? "page" : undefined} title=${`g ${key}`}>${title}</a>`,
      )}
    </nav>
    <span class="grow"></span>
    <span class=${`health ${connection.value}`} role="status">${connection.value === "online" ? "● online" : "▲ offline"}</span>
    <span class="actor" title="actor">${session.value.actor_id ?? "anonymous"}</span>
    <button class="plain" aria-label="Light or dark" title="Light or dark" onClick=${toggleTheme}>◐</button>
    <button class="plain" aria-label="Keys" title="Keys (?)" onClick=${onHelp}>?</button>
    ${session.value.actor_id && html`<button class="plain" onClick=${forgetToken}>Sign out</button>`}
  </header>`;
}
