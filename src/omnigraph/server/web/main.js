/** The shell: bar, router, keys, and the screens, which are loaded when they are opened. */
import { html, render, useEffect, useState } from "./vendor/core.js";
import { awaitServer, request } from "./api.js";
import { Bar } from "./parts/bar.js";
import { Dialog } from "./parts/dialog.js";
import { Problem } from "./parts/loading.js";
import { short } from "./parts/values.js";
import { connection, go, keepToken, link, notice, refused, revision, route, session, setParams, token, address } from "./state.js";

const NOTICE_MS = 5000;

/** Screens by name: the key after `g`, the title, and the module. @type {Record<string, [string, string, () => Promise<any>]>} */
export const SCREENS = {
  overview: ["o", "Overview", () => import("./screens/overview.js")],
  query: ["q", "Query", () => import("./screens/query.js")],
  browse: ["b", "Browse", () => import("./screens/browse.js")],
  history: ["h", "History", () => import("./screens/history.js")],
  review: ["r", "Review", () => import("./screens/review.js")],
  jobs: ["j", "Health", () => import("./screens/jobs.js")],
};

/** Keys beside those of the screens. @type {[string[], string][]} */
const KEYS = [
  [["Ctrl", "Enter"], "Run the query"],
  [["Ctrl", "Space"], "Completions in the editor"],
  [["↑", "↓"], "Move in tables and lists; select nodes of a picture"],
  [["Enter"], "Open the row or node"],
  [["e"], "Expand the selected node of a picture"],
  [["+", "−", "0"], "Zoom in, zoom out, show all of a picture"],
  [["/"], "Find in a picture"],
  [["?"], "These keys"],
  [["Esc"], "Close"],
];

function AskToken() {
  const [text, setText] = useState("");
  return html`<main class="ask">
    <div class="card">
      <div class="line"><img src="icon.svg" alt="" width="34" height="34" /><h1>Omnigraph</h1></div>
      <form
        onSubmit=${(/** @type {Event} */ event) => {
          event.preventDefault();
          keepToken(text.trim());
          revision.value += 1;
        }}
      >
        <label>Token<input type="password" autocomplete="off" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
        <button class="main" disabled=${!text.trim()}>Sign in</button>
      </form>
      ${refused.value && html`<p role="alert" class="minus">The server does not accept this token.</p>`}
      <p class="quiet tiny">The token is kept for this tab only. <code>omnigraph serve</code> prints one when none is configured, and <code>omnigraph ui</code> signs you in by itself.</p>
    </div>
  </main>`;
}

/** @param {{onClose: () => void}} props */
function Keys({ onClose }) {
  const keys = (/** @type {string[]} */ names) => names.map((name) => html`<kbd>${name}</kbd>`);
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys-list">
      ${Object.values(SCREENS).map(([key, title]) => html`<dt>${keys(["g", key])}</dt><dd>${title}</dd>`)}
      ${KEYS.map(([names, what]) => html`<dt>${keys(names)}</dt><dd>${what}</dd>`)}
    </dl>
    <button onClick=${onClose}>Close</button>
  <//>`;
}

/** `g` and a letter go to a screen; keys in fields are text. @param {(next: any) => void} setHelp */
function useKeys(setHelp) {
  useEffect(() => {
    let isGoing = false;
    const listen = (/** @type {KeyboardEvent} */ event) => {
      const place = /** @type {HTMLElement} */ (event.composedPath()[0]);
      if (event.ctrlKey || event.metaKey || event.altKey || place.isContentEditable) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(place.tagName ?? "")) return;
      const found = isGoing && Object.entries(SCREENS).find(([, [key]]) => key === event.key);
      isGoing = event.key === "g" && !isGoing;
      if (found) go(link(found[0]));
      else if (event.key === "?") setHelp((/** @type {boolean} */ before) => !before);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

/** @param {{name: string}} props */
function Screen({ name }) {
  const [found, setFound] = useState(/** @type {any} */ ({}));
  useEffect(() => {
    let isCurrent = true;
    SCREENS[name][2]().then(
      (module) => isCurrent && setFound({ name, Part: module.default }),
      () => {
        // The server may be gone before the screen was ever opened; it is loaded again when the server is back.
        awaitServer();
        if (isCurrent) setFound({ name, error: { status: 0, message: "This screen could not be loaded." } });
      },
    );
    document.title = `${SCREENS[name][1]} · ${route.value.graph} · Omnigraph`;
    return () => {
      isCurrent = false;
    };
  }, [name, revision.value]);
  if (found.name !== name) return html`<div class="skeletons" role="status" aria-label="Loading"><div class="skeleton"></div><div class="skeleton"></div></div>`;
  if (found.error) return html`<${Problem} error=${found.error} />`;
  return html`<${found.Part} key=${route.value.graph} />`;
}

/** What lies over every screen: offline, a pinned commit, a notice. */
function Banners() {
  const { at } = route.value.params;
  useEffect(() => {
    if (!notice.value) return undefined;
    const timer = setTimeout(() => (notice.value = ""), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice.value]);
  return html`
    ${connection.value === "offline" && html`<div class="banner bad" role="alert"><strong>The server cannot be reached.</strong> Trying again…</div>`}
    ${at && html`<div class="banner"><span>This is commit <code title=${at}>@${short(at)}</code>, as it was. Nothing here changes any more.</span><button class="small" onClick=${() => setParams({ at: "" })}>Back to ${route.value.params.ref || "main"}</button></div>`}
    <div role="status">${notice.value && html`<div class="toast">${notice.value}</div>`}</div>
  `;
}

function Page() {
  const [problem, setProblem] = useState(/** @type {any} */ ("unknown"));
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
    if (!problem || refused.value) return html`<${AskToken} />`;
    return html`<main class="ask">${problem !== "unknown" && html`<${Problem} error=${problem} />`}</main>`;
  }
  const name = SCREENS[route.value.screen] ? route.value.screen : "overview";
  const toContent = (/** @type {Event} */ event) => {
    event.preventDefault();
    document.querySelector("main")?.focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${toContent}>To the content</a>
    <${Bar} screens=${SCREENS} current=${name} onHelp=${() => setHelp(true)} />
    <${Banners} />
    <main id="main" tabindex="-1">
      ${route.value.graph
        ? html`<${Screen} name=${name} />`
        : html`<div class="state denied"><strong>No graph</strong><p>This token may not read any graph of the server.</p></div>`}
    </main>
    ${help && html`<${Keys} onClose=${() => setHelp(false)} />`}
  `;
}

const root = /** @type {HTMLElement} */ (document.getElementById("page"));
root.textContent = "";
render(html`<${Page} />`, root);
