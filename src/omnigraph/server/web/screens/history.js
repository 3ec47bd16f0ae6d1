/** History: commits with lanes, filters, the changes of a commit, compare, and revert with a preview. */
import { html, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { Changes } from "../parts/changes.js";
import { Lanes } from "../parts/lanes.js";
import { Empty, Problem, Show, useLoaded } from "../parts/loading.js";
import { Changed, count, short, text, typeOf, When } from "../parts/values.js";
import { link, revision, route, setParams } from "../state.js";

const BRANCHES_MAX = 12;
const ROWS_MAX = 200;
const CHANGES_MAX = 300;

/** Commits of all branches, newest first, each once. */
async function allCommits() {
  const { branches } = await call("branches");
  const names = ["main", ...branches.filter((name) => name !== "main").slice(0, BRANCHES_MAX)];
  const lists = await Promise.all(names.map((branch) => call("commits", { query: { branch } }).catch(() => ({ commits: [] }))));
  const found = new Map(lists.flatMap((list) => list.commits).map((commit) => [commit.graph_commit_id, commit]));
  return [...found.values()].sort((a, b) => (a.graph_commit_id < b.graph_commit_id ? 1 : -1));
}

/** A revert: its preview, then one button. @param {{what: object, branch: string, onDone: () => void}} props */
function Revert({ what, branch, onDone }) {
  const [message, setMessage] = useState("");
  const [error, setError] = useState(null);
  const preview = useLoaded(() => call("revert/preview", { body: { ...what, branch } }), [JSON.stringify(what), branch]);
  async function revert() {
    try {
      const body = { ...what, branch, expected_head: preview.value.head_commit_id, message: message || undefined };
      await call("revert", { body, headers: writeKey() });
      onDone();
      revision.value += 1;
    } catch (problem) {
      setError(problem);
    }
  }
  return html`<div class="stack" aria-label="Revert" role="group">
    <h2>Revert on ${branch}</h2>
    <${Show} of=${preview}>
      ${(found) => html`
        <p>${count(found.reverted_commit_ids.length)} ${found.reverted_commit_ids.length === 1 ? "commit is" : "commits are"} undone by one new commit: <${Changed} tables=${found.tables} /></p>
        <ul class="rows">${found.tables.map((table) => html`<li>${typeOf(table.table_key)} <${Changed} tables=${[table]} /></li>`)}</ul>
        ${found.merge_conflicts.map(
          (item) => html`<p class="minus">! ${item.type_name} ${item.entity_id} ${item.property}: was ${text(item.source)}, later set to ${text(item.target)}</p>`,
        )}
        ${found.merge_conflicts.length > 0 && html`<p class="quiet">Later commits changed the same values. Revert those first.</p>`}
        <label>Message<input name="revert-message" value=${message} onInput=${(event) => setMessage(event.target.value)} /></label>
        <div class="line">
          <button class="main" disabled=${found.merge_conflicts.length > 0} onClick=${revert}>Revert</button>
          <button onClick=${onDone}>Cancel</button>
        </div>
      `}
    <//>
    ${error && html`<${Problem} error=${error} />`}
  </div>`;
}

/** The changes of a commit, or between two. @param {{commit: any, base?: string}} props */
function Detail({ commit, base }) {
  const id = commit.graph_commit_id;
  const [reverting, setReverting] = useState("");
  const found = useLoaded(
    () =>
      base
        ? call("diff", { query: { from: base, to: id, limit: CHANGES_MAX } })
        : call(`commits/${id}/changes`, { query: { limit: CHANGES_MAX } }),
    [id, base],
  );
  const branch = commit.graph_branch ?? "main";
  return html`<section class="card stack" aria-label="Commit">
    <div>
      <h2>${base ? `Changes from @${short(base)}` : "Commit"}</h2>
      <strong>${commit.message || commit.kind}</strong>
      <dl class="facts">
        <dt>commit</dt><dd><code>${id}</code></dd>
        <dt>branch</dt><dd>${branch}</dd>
        <dt>actor</dt><dd>${commit.actor_id ?? "–"}</dd>
        <dt>time</dt><dd><${When} micros=${commit.created_at} /></dd>
        ${Object.entries(commit.provenance).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      </dl>
    </div>
    <div class="line">
      <a class="button" href=${link("overview", { at: id, ref: "" })}>Look at this commit</a>
      ${base
        ? html`<button onClick=${() => setParams({ base: "" })}>End comparison</button>`
        : html`<button onClick=${() => setParams({ base: id })}>Compare with…</button>`}
      <button onClick=${() => setReverting(id)} disabled=${!commit.parent_commit_id}>Revert…</button>
    </div>
    ${reverting === id && html`<${Revert} what=${{ commits: id }} branch=${branch} onDone=${() => setReverting("")} />`}
    <${Show} of=${found}>
      ${(value) => {
        const changes = value.changes ?? [];
        const total = (base ? value.tables : commit.tables).reduce((sum, table) => sum + Number(table.inserted) + Number(table.updated) + Number(table.deleted), 0);
        return changes.length ? html`<${Changes} changes=${changes} total=${total} />` : html`<${Empty}>No entity differs.<//>`;
      }}
    <//>
  </section>`;
}

/** @param {{commits: any[]}} props */
function Filters({ commits }) {
  const { actor = "", kind = "" } = route.value.params;
  const values = (name) => [...new Set(commits.map((commit) => commit[name]).filter(Boolean))].sort();
  const choice = (name, current, field) => html`<label class="inline">${name}
    <select name=${name} value=${current} onChange=${(event) => setParams({ [name]: event.target.value, commit: "" })}>
      <option value="">any</option>
      ${values(field).map((value) => html`<option value=${value}>${value}</option>`)}
    </select>
  </label>`;
  return html`<div class="line">${choice("actor", actor, "actor_id")} ${choice("kind", kind, "kind")}</div>`;
}

export default function History() {
  const { graph, params } = route.value;
  const commits = useLoaded(allCommits, [graph]);
  const [isReverting, setReverting] = useState(false);
  return html`<h1>History</h1>
    <${Show} of=${commits}>
      ${(all) => {
        const kept = all.filter(
          (commit) => (!params.actor || commit.actor_id === params.actor) && (!params.kind || commit.kind === params.kind),
        );
        const shown = kept.slice(0, ROWS_MAX);
        const picked = all.find((commit) => commit.graph_commit_id === params.commit);
        return html`<div class="columns">
          <section class="stack commits" aria-label="Commits">
            <div class="line spread">
              <${Filters} commits=${all} />
              ${params.actor && html`<button onClick=${() => setReverting(true)}>Revert all of ${params.actor}…</button>`}
            </div>
            ${isReverting && params.actor && html`<div class="card"><${Revert} what=${{ actor: params.actor }} branch=${params.ref || "main"} onDone=${() => setReverting(false)} /></div>`}
            ${params.base && html`<p class="chip">compare with @${short(params.base)}: pick another commit <button aria-label="End comparison" onClick=${() => setParams({ base: "" })}>✕</button></p>`}
            ${shown.length === 0 && html`<${Empty}>No commit matches.<//>`}
            <div class="scroll"><table class="grid">
              <tbody>
                ${shown.map(
                  (commit, i) => html`<tr
                    key=${commit.graph_commit_id}
                    class=${`pick ${commit === picked ? "picked" : ""}`}
                    tabindex="0"
                    onClick=${() => setParams({ commit: commit.graph_commit_id })}
                    onKeyDown=${(event) => event.key === "Enter" && setParams({ commit: commit.graph_commit_id })}
                  >
                    ${i === 0 && html`<td rowspan=${shown.length}><${Lanes} commits=${shown} /></td>`}
                    <td class="tall">${commit.message || commit.kind}</td>
                    <td class="quiet">${commit.graph_branch ?? "main"}</td>
                    <td>${commit.actor_id ?? "–"}</td>
                    <td><${Changed} tables=${commit.tables} /></td>
                    <td class="quiet"><${When} micros=${commit.created_at} /></td>
                  </tr>`,
                )}
              </tbody>
            </table></div>
            ${kept.length > shown.length && html`<p class="quiet">${count(shown.length)} of ${count(kept.length)} shown</p>`}
          </section>
          ${picked
            ? html`<${Detail} key=${picked.graph_commit_id} commit=${picked} base=${params.base && params.base !== picked.graph_commit_id ? params.base : undefined} />`
            : html`<${Empty}>Pick a commit to see its changes.<//>`}
        </div>`;
      }}
    <//>`;
}
