/** Overview: numbers of entities, the schema as a picture, the last changes, branches. */
import { html } from "../vendor/core.js";
import { call } from "../api.js";
import { Empty, Show, useLoaded } from "../parts/loading.js";
import { Picture } from "../parts/svg.js";
import { Changed, count, short, When } from "../parts/values.js";
import { go, link, route, target } from "../state.js";

const COMMITS_SHOWN = 8;
const BRANCHES_SHOWN = 12;

/** The picture of a schema, and the table beside it. @param {{catalog: any}} props */
function Schema({ catalog }) {
  const nodes = catalog.nodes.map((type, i) => ({ key: type.name, label: type.name, note: count(type.count), colour: i % 8 }));
  const edges = catalog.edges.flatMap((type) => type.ends.map((ends) => ({ ...ends, label: type.name })));
  return html`<section class="card" aria-label="Schema">
    <h2>Schema</h2>
    <${Picture} nodes=${nodes} edges=${edges} size=${18} gap=${150} label="The types of the graph" onPick=${(name) => go(link("browse", { type: name }))} />
    <details>
      <summary>As a table</summary>
      <table class="grid">
        <thead><tr><th>Type</th><th>Entities</th><th>Properties</th></tr></thead>
        <tbody>
          ${[...catalog.nodes, ...catalog.edges].map(
            (type) => html`<tr>
              <td>${type.name}${type.source ? html` <span class="quiet">${type.source} → ${type.target}</span>` : ""}</td>
              <td class="number">${count(type.count)}</td>
              <td>${type.properties.map((property) => `${property.name}: ${property.type}`).join(", ")}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`;
}

/** @param {{commits: any[]}} props */
function LastChanges({ commits }) {
  return html`<section class="card" aria-label="Last changes">
    <h2>Last changes</h2>
    <ul class="rows">
      ${commits.slice(0, COMMITS_SHOWN).map(
        (commit) => html`<li>
          <a href=${link("history", { commit: commit.graph_commit_id })}>${commit.message || commit.kind}</a>
          <${Changed} tables=${commit.tables} />
          <span class="quiet">${commit.actor_id ?? "–"} · <${When} micros=${commit.created_at} /></span>
        </li>`,
      )}
    </ul>
  </section>`;
}

/** A branch, with its changes since it was made. @param {{name: string, made?: string}} props */
function Branch({ name, made }) {
  const diff = useLoaded(() => call("diff", { query: { from: made ?? "main", to: name, summary: true } }), [name, route.value.graph]);
  const stats = diff.value?.stats;
  return html`<li>
    <a href=${link("overview", { ref: name, at: "" })}>${name}</a>
    ${stats ? html`<${Changed} counts=${[stats.inserts, stats.updates, stats.deletes]} />` : html`<span class="quiet">…</span>`}
    <a class="button" href=${link("review", { source: name, target: "main", ref: "", at: "" })}>Review</a>
  </li>`;
}

/** @param {{branches: string[], details: any[]}} props */
function Branches({ branches, details }) {
  const made = Object.fromEntries(details.map((item) => [item.name, item.parent_commit]));
  const others = branches.filter((name) => name !== "main");
  return html`<section class="card" aria-label="Branches">
    <h2>Branches</h2>
    ${others.length === 0 && html`<${Empty}>Only main. <code>omnigraph branch create</code> makes another one.<//>`}
    <ul class="rows">${others.slice(0, BRANCHES_SHOWN).map((name) => html`<${Branch} key=${name} name=${name} made=${made[name]} />`)}</ul>
    ${others.length > BRANCHES_SHOWN && html`<p class="quiet">${count(BRANCHES_SHOWN)} of ${count(others.length)} shown</p>`}
  </section>`;
}

export default function Overview() {
  const { graph, params } = route.value;
  const at = [graph, params.ref, params.at];
  const catalog = useLoaded(() => call("catalog", { query: target() }), at);
  const commits = useLoaded(() => call("commits", { query: { branch: params.ref || "main" } }), at);
  const branches = useLoaded(() => call("branches"), [graph]);
  return html`<${Show} of=${catalog}>
    ${(found) => html`
      <h1 class="hidden">Overview of ${graph}</h1>
      <div class="tiles">
        ${[...found.nodes, ...found.edges].map(
          (type) => html`<a class="tile" href=${link("browse", { type: type.name, kind: type.kind === "edge" ? "edge" : "" })}>
            <span>${type.name}</span><strong>${count(type.count)}</strong>
          </a>`,
        )}
        <span class="quiet end" title=${found.graph_commit_id}>@${short(found.graph_commit_id)}</span>
      </div>
      <div class="columns">
        ${found.nodes.length ? html`<${Schema} catalog=${found} />` : html`<${Empty}>The schema has no types.<//>`}
        <div class="stack">
          <${Show} of=${commits}>${(list) => html`<${LastChanges} commits=${list.commits} />`}<//>
          <${Show} of=${branches}>${(list) => html`<${Branches} branches=${list.branches} details=${list.details ?? []} />`}<//>
        </div>
      </div>
    `}
  <//>`;
}
