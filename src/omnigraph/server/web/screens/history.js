/** History: commits with lanes, filters, the changes of a commit, compare, and revert with a preview. */
import { html, useEffect, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { ChangePicture } from "../parts/change_picture.js";
import { DiffChanges } from "../parts/changes.js";
import { Lanes } from "../parts/lanes.js";
import { Empty, Show, useLoaded } from "../parts/loading.js";
import { Revert } from "../parts/revert.js";
import { Changed, Commit, count, short, typeOf, When } from "../parts/values.js";
import { link, route, setParams, shownCommit } from "../state.js";

const BRANCHES_MAX = 12;
const ROWS_MAX = 200;
const SINCE = /** @type {Record<string, [string, number]>} */ ({ day: ["last day", 1], week: ["last 7 days", 7], month: ["last 30 days", 30] });

/** Commits of all branches, newest first, each once. */
async function allCommits() {
  const { branches } = await call("branches");
  const names = ["main", ...branches.filter((/** @type {string} */ name) => name !== "main").slice(0, BRANCHES_MAX)];
  const lists = await Promise.all(names.map((branch) => call("commits", { query: { branch } }).catch(() => ({ commits: [] }))));
  const found = new Map(lists.flatMap((list) => list.commits).map((commit) => [commit.graph_commit_id, commit]));
  return [...found.values()].sort((a, b) => (a.graph_commit_id < b.graph_commit_id ? 1 : -1));
}

/** The changes of a commit, or between two. @param {{commit: any, base?: string}} props */
function Changes({ commit, base }) {
  const [isDrawn, setDrawn] = useState(false);
  const from = base ?? commit.parent_commit_id;
  const to = commit.graph_commit_id;
  const diff = useLoaded(() => (base ? call("diff", { query: { from, to, summary: true } }) : Promise.resolve({ tables: commit.tables })), [from, to]);
  if (!from) return html`<${Empty}>The first commit: the graph was created.<//>`;
  return html`<${Show} of=${diff}>
    ${(/** @type {any} */ found) => {
      const tables = found.tables.filter((/** @type {any} */ table) => Number(table.inserted) + Number(table.updated) + Number(table.deleted) > 0);
      if (!tables.length) return html`<${Empty}>No entity differs.<//>`;
      return html`<div>
        <div class="line spread"><h3>Changes</h3><button class="small" onClick=${() => setDrawn(!isDrawn)}>${isDrawn ? "Hide the picture" : "Draw"}</button></div>
        ${isDrawn && html`<${ChangePicture} from=${from} to=${to} conflicts=${[]} type=${route.value.params.drawn} onType=${(/** @type {string} */ name) => setParams({ drawn: name }, true)} />`}
        <${DiffChanges} from=${from} to=${to} tables=${tables} />
      </div>`;
    }}
  <//>`;
}

/** @param {{commit: any, base?: string}} props */
function Detail({ commit, base }) {
  const id = commit.graph_commit_id;
  const [isReverting, setReverting] = useState(false);
  const branch = commit.graph_branch ?? "main";
  return html`<section class="card stack" aria-label="Commit">
    <div class="stack tight">
      <div><span class="quiet tiny">${base ? html`changes from <${Commit} id=${base} />` : commit.kind}</span><h1>${commit.message || commit.kind}</h1></div>
      <dl class="facts">
        <dt>commit</dt><dd><code>${id}</code></dd>
        <dt>branch</dt><dd>${branch}</dd>
        <dt>actor</dt><dd>${commit.actor_id ?? "–"}</dd>
        <dt>time</dt><dd><${When} micros=${commit.created_at} /></dd>
        ${Object.entries(commit.provenance ?? {}).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      </dl>
    </div>
    <div class="line">
      <a class="button" href=${link("overview", { at: id, ref: "" })}>Look at this commit</a>
      ${base
        ? html`<button onClick=${() => setParams({ base: "" })}>End comparison</button>`
        : html`<button onClick=${() => setParams({ base: id })}>Compare with…</button>`}
      <button onClick=${() => setReverting(true)} disabled=${!commit.parent_commit_id}>Revert…</button>
    </div>
    ${isReverting && html`<${Revert} what=${{ commits: id }} title="this commit" branch=${branch} onDone=${() => setReverting(false)} />`}
    <${Changes} key=${`${base}${id}`} commit=${commit} base=${base} />
  </section>`;
}

/** @param {{commits: any[]}} props */
function Filters({ commits }) {
  const { params } = route.value;
  const values = (/** @type {(commit: any) => any} */ of) => [...new Set(commits.flatMap(of).filter(Boolean))].sort();
  const choice = (/** @type {string} */ name, /** @type {any[]} */ options) => html`<label class="inline tiny">${name}
    <select name=${name} value=${params[name] ?? ""} onChange=${(/** @type {any} */ event) => setParams({ [name]: event.target.value, commit: "" })}>
      <option value="">any</option>
      ${options.map((value) => html`<option value=${value}>${name === "since" ? SINCE[value][0] : value}</option>`)}
    </select>
  </label>`;
  return html`<div class="line" role="group" aria-label="Filters">
    ${choice("actor", values((commit) => commit.actor_id))} ${choice("kind", values((commit) => commit.kind))}
    ${choice("type", values((commit) => commit.tables.map((/** @type {any} */ table) => typeOf(table.table_key))))}
    ${values((commit) => commit.provenance?.run).length > 0 && choice("run", values((commit) => commit.provenance?.run))}
    ${choice("since", Object.keys(SINCE))}
  </div>`;
}

/** @type {(commits: any[]) => any[]} */
function filtered(commits) {
  const { actor, kind, type, run, since } = route.value.params;
  const oldest = since && SINCE[since] ? (Date.now() - SINCE[since][1] * 864e5) * 1000 : 0;
  return commits.filter(
    (commit) =>
      (!actor || commit.actor_id === actor) &&
      (!kind || commit.kind === kind) &&
      (!run || commit.provenance?.run === run) &&
      (!type || commit.tables.some((/** @type {any} */ table) => typeOf(table.table_key) === type)) &&
      Number(commit.created_at) >= oldest,
  );
}

/** What the server can revert as one selection: an actor, a run and a time, together. @type {() => any | null} */
function selection() {
  const { actor, run, since, kind, type } = route.value.params;
  if ((!actor && !run) || kind || type) return null;
  const from = since && SINCE[since] ? { since: new Date(Date.now() - SINCE[since][1] * 864e5).toISOString() } : {};
  return { ...(actor ? { actor } : {}), ...(run ? { run } : {}), ...from };
}

/** @param {{shown: any[], picked?: any}} props */
function CommitTable({ shown, picked }) {
  const pick = (/** @type {any} */ commit) => setParams({ commit: commit.graph_commit_id, drawn: "" });
  const keys = (/** @type {any} */ event, /** @type {any} */ commit) => {
    const next = event.key === "ArrowDown" ? event.currentTarget.nextElementSibling : event.key === "ArrowUp" ? event.currentTarget.previousElementSibling : null;
    if (event.key === "Enter" || event.key === " ") pick(commit);
    else if (next) next.focus();
    else return;
    event.preventDefault();
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Commits"><table class="grid">
    <tbody>
      ${shown.map(
        (commit, i) => html`<tr key=${commit.graph_commit_id} class=${`pick ${commit === picked ? "picked" : ""}`} tabindex="0" onClick=${() => pick(commit)} onKeyDown=${(/** @type {any} */ event) => keys(event, commit)}>
          ${i === 0 && html`<td class="lane" rowspan=${shown.length}><${Lanes} commits=${shown} /></td>`}
          <td class="message">${commit.message || commit.kind}</td>
          <td class="quiet narrow">${commit.graph_branch ?? "main"}</td>
          <td class="narrow">${commit.actor_id ?? "–"}</td>
          <td><${Changed} tables=${commit.tables} /></td>
          <td class="quiet tiny narrow"><${When} micros=${commit.created_at} /></td>
        </tr>`,
      )}
    </tbody>
  </table></div>`;
}

export default function History() {
  const { graph, params } = route.value;
  const commits = useLoaded(allCommits, [graph]);
  const [isReverting, setReverting] = useState(false);
  useEffect(() => {
    shownCommit.value = "";
  }, []);
  return html`<${Show} of=${commits} lines=${12}>
    ${(/** @type {any[]} */ all) => {
      const kept = filtered(all);
      const shown = kept.slice(0, ROWS_MAX);
      const picked = all.find((commit) => commit.graph_commit_id === params.commit);
      const what = selection();
      const name = [params.actor, params.run].filter(Boolean).join(", ");
      return html`<div class="title-line"><h1>History</h1><span class="quiet">${count(kept.length)} of ${count(all.length)} commits</span></div>
        <div class="columns">
          <section class="stack tight commits" aria-label="Commits">
            <div class="line spread">
              <${Filters} commits=${all} />
              ${what && html`<button onClick=${() => setReverting(true)}>Revert all of ${name}…</button>`}
            </div>
            ${isReverting && what && html`<${Revert} what=${what} title=${`all of ${name}`} branch=${params.ref || "main"} onDone=${() => setReverting(false)} />`}
            ${params.base && html`<p class="chip">compare with @${short(params.base)}: pick another commit <button aria-label="End comparison" onClick=${() => setParams({ base: "" })}>✕</button></p>`}
            ${shown.length === 0 ? html`<${Empty} title="No commit matches">Choose “any” in a filter to see more.<//>` : html`<${CommitTable} shown=${shown} picked=${picked} />`}
            ${kept.length > shown.length && html`<p class="quiet tiny">${count(shown.length)} of ${count(kept.length)} shown</p>`}
          </section>
          ${picked
            ? html`<${Detail} key=${picked.graph_commit_id} commit=${picked} base=${params.base && params.base !== picked.graph_commit_id ? params.base : undefined} />`
            : html`<${Empty} title="Pick a commit">Its changes, with the values before and after, are shown here.<//>`}
        </div>`;
    }}
  <//>`;
}
