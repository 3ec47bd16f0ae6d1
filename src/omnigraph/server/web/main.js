/** The shell: bar, router, keys, and the screens, which are loaded when they are opened. */
import { html, render, useEffect, useState } from "./vendor/core.js";
import { request } from "./api.js";
import { Bar } from "./parts/bar.js";
import { Problem } from "./parts/loading.js";
import { connection, go, keepToken, link, refused, revision, route, session, token, address } from "./state.js";

/** Screens by name: the key after `g`, the title, and the module. */
export const SCREENS = {
  overview: ["o", "Overview", () => import("./screens/overview.js")],
  query: ["q", "Query", () => import("./screens/query.js")],
  browse: ["b", "Browse", () => import("./screens/browse.js")],
  history: ["h", "History", () => import("./screens/history.js")],
  review: ["r", "Review", () => import("./screens/review.js")],
  jobs: ["j", "Jobs and health", () => import("./screens/jobs.js")],
};

function AskToken() {
  const [text, setText] = useState("");
  return html`<main class="ask">
    <h1>Omnigraph</h1>
    <form
      onSubmit=${(event) => {
        event.preventDefault();
        keepToken(text.trim());
        revision.value += 1;
      }}
    >
      <label>Token<input type="password" autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} /></label>
      <button class="main" disabled=${!text.trim()}>Sign in</button>
    </form>
    ${refused.value && html`<p role="alert">The server does not accept this token.</p>`}
    <p class="quiet">The token is kept for this tab only. <code>omnigraph serve</code> prints one when none is configured.</p>
  </main>`;
}

function Keys({ onClose }) {
  return html`<dialog open class="keys" aria-label="Keys">
    <h2>Keys</h2>
    <table>
      <tbody>
        ${Object.values(SCREENS).map(([key, title]) => html`<tr><td><kbd>g</kbd> <kbd>${key}</kbd></td><td>${title}</td></tr>`)}
        <tr><td><kbd>Ctrl</kbd> <kbd>Enter</kbd></td><td>Run the query</td></tr>
        <tr><td><kbd>?</kbd></td><td>These keys</td></tr>
        <tr><td><kbd>Esc</kbd></td><td>Close</td></tr>
      </tbody>
    </table>
    <button onClick=${onClose}>Close</button>
  </dialog>`;
}

/** `g` and a letter go to a screen; keys in fields are text. */
function useKeys(setHelp) {
  useEffect(() => {
    let isGoing = false;
    const listen = (event) => {
      const place = event.composedPath()[0];
      if (event.key === "Escape") setHelp(false);
      if (event.ctrlKey || event.metaKey || event.altKey || place.isContentEditable) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(place.tagName ?? "")) return;
      const found = isGoing && Object.entries(SCREENS).find(([, [key]]) => key === event.key);
      isGoing = event.key === "g" && !isGoing;
      if (found) go(link(found[0]));
      else if (event.key === "?") setHelp((before) => !before);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

function Screen({ name }) {
  const [found, setFound] = useState({});
  useEffect(() => {
    SCREENS[name][2]().then(
      (module) => setFound({ name, Part: module.default }),
      () => setFound({ name, error: { status: 0, message: "This screen could not be loaded." } }),
    );
    document.title = `${SCREENS[name][1]} · ${route.value.graph} · Omnigraph`;
  }, [name, revision.value]);
  if (found.name !== name) return html`<div class="state quiet" role="status">Loading…</div>`;
  if (found.error) return html`<${Problem} error=${found.error} />`;
  return html`<${found.Part} key=${route.value.graph} />`;
}

function Page() {
  const [problem, setProblem] = useState(null);
  const [help, setHelp] = useState(false);
  useKeys(setHelp);
  useEffect(() => {
    request("ui/session.json").then(
      (found) => {
        setProblem(null);
        session.value = found;
        const { graph } = route.value;
        if (!graph && found.graphs.length) history.replaceState(null, "", address({ graph: found.graphs[0] }));
        if (!graph && found.graphs.length) route.value = { graph: found.graphs[0], screen: "overview", params: {} };
      },
      (error) => setProblem(error.status === 401 ? null : error),
    );
  }, [token.value, revision.value]);
  if (session.value === null) {
    if (problem) return html`<main class="ask"><h1>Omnigraph</h1><${Problem} error=${problem} /></main>`;
    return html`<${AskToken} />`;
  }
  const name = SCREENS[route.value.screen] ? route.value.screen : "overview";
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.querySelector("main").focus())}>To the content</a>
    <${Bar} screens=${SCREENS} current=${name} onHelp=${() => setHelp(true)} />
    ${connection.value === "offline" && html`<div class="banner" role="alert">The server cannot be reached. Trying again…</div>`}
    <main id="main" tabindex="-1">
      ${route.value.graph
        ? html`<${Screen} name=${name} />`
        : html`<div class="state denied"><strong>No graph</strong><p>This token may not read any graph of the server.</p></div>`}
    </main>
    ${help && html`<${Keys} onClose=${() => setHelp(false)} />`}
  `;
}

const root = document.getElementById("page");
root.textContent = "";
render(html`<${Page} />`, root);
