/** Overview: numbers of entities, the schema as a picture, the last changes, branches. */
import { html, useLayoutEffect, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Compared, MAIN, otherBranches } from "../parts/branches.js";
import { TypeDot, typesOf, useCatalog } from "../parts/catalog.js";
import { LoadDialog } from "../parts/load.js";
import { Empty, Show, useLoaded } from "../parts/loading.js";
import { SchemaPicture, SchemaTable } from "../parts/schema_picture.js";
import { Changed, Commit, count, counted, When } from "../parts/values.js";
import { go, link, moment, route, shownCommit } from "../state.js";

const COMMITS_SHOWN = 8;
const BRANCHES_SHOWN = 12;
const TILES_SHOWN = 24;

/** The picture of a schema, and the table beside it. @param {{catalog: any}} props */
function Schema({ catalog }) {
  return html`<section class="card" aria-label="Schema">
    <header><h2>Schema</h2><span class="quiet tiny">${counted(catalog.nodes.length, "node type")}, ${counted(catalog.edges.length, "edge type")}</span></header>
    <${SchemaPicture} catalog=${catalog} onPick=${(/** @type {string} */ name) => go(link("browse", { type: name }))} />
    <details>
      <summary class="quiet">Types and properties as a table</summary>
      <${SchemaTable} catalog=${catalog} />
    </details>
  </section>`;
}

/** @param {{commits: any[]}} props */
function LastChanges({ commits }) {
  return html`<section class="card" aria-label="Last changes">
    <header><h2>Last changes</h2><a class="tiny" href=${link("history")}>All commits</a></header>
    <ul class="rows">
      ${commits.slice(0, COMMITS_SHOWN).map(
        (commit) => html`<li>
          <a href=${link("history", { commit: commit.graph_commit_id })}>${commit.message || commit.kind}</a>
          <${Changed} tables=${commit.tables} />
          <span class="quiet tiny">${commit.actor_id ?? "no actor"} · <${When} micros=${commit.created_at} /></span>
        </li>`,
      )}
    </ul>
  </section>`;
}

/** A branch, with its changes since it was made. @param {{branch: import("../parts/branches.js").Branch}} props */
function Branch({ branch }) {
  const { name } = branch;
  const diff = useLoaded(() => call("diff", { query: { from: branch.parent_commit ?? MAIN, to: name, summary: true } }), [name, route.value.graph]);
  const stats = diff.value?.stats;
  return html`<li>
    <a href=${link("overview", { ref: name, at: "" })}>${name}</a>
    ${stats ? html`<${Changed} counts=${[stats.inserts, stats.updates, stats.deletes]} />` : html`<span class="quiet">${diff.error ? "" : "…"}</span>`}
    <${Compared} branch=${branch} />
    <a class="button small" href=${link("review", { source: name, target: "main", ref: "", at: "" })} aria-label=${`Review ${name}`}>Review</a>
  </li>`;
}

/** @param {{others: import("../parts/branches.js").Branch[]}} props */
function Branches({ others }) {
  return html`<section class="card" aria-label="Branches">
    <header><h2>Branches</h2><span class="quiet tiny">changes since each was made</span></header>
    ${others.length === 0 && html`<${Empty} title="Only main">A branch is a place to try something: <code>omnigraph branch create NAME</code>, or edit an entity in Browse.<//>`}
    <ul class="rows">${others.slice(0, BRANCHES_SHOWN).map((branch) => html`<${Branch} key=${branch.name} branch=${branch} />`)}</ul>
    ${others.length > BRANCHES_SHOWN && html`<p class="quiet tiny">${count(BRANCHES_SHOWN)} of ${count(others.length)} shown</p>`}
  </section>`;
}

/** @param {{catalog: any, head?: any}} props */
function Title({ catalog, head }) {
  const [isLoading, setLoading] = useState(false);
  const total = (/** @type {any[]} */ types) => types.reduce((sum, type) => sum + Number(type.count), 0);
  return html`<div class="title-line">
    <h1>${route.value.graph}</h1>
    <span class="quiet">${count(total(catalog.nodes))} nodes, ${count(total(catalog.edges))} edges</span>
    <span class="quiet end">${head ? html`<${Commit} id=${catalog.graph_commit_id} /> <${When} micros=${head.created_at} />${head.actor_id ? ` by ${head.actor_id}` : ""}` : html`<${Commit} id=${catalog.graph_commit_id} />`}</span>
    <span class="line"><a class="button" href=${link("query")}>Query</a><a class="button" href=${link("browse", { view: "picture" })}>Draw</a>${!route.value.params.at && html`<button onClick=${() => setLoading(true)}>Load data</button>`}</span>
    ${isLoading && html`<${LoadDialog} catalog=${catalog} onClose=${() => setLoading(false)} />`}
  </div>`;
}

export default function Overview() {
  const { params } = route.value;
  const catalog = useCatalog();
  const commits = useLoaded(() => call("commits", { query: { branch: params.ref || "main" } }), moment());
  const branches = useLoaded(otherBranches, [route.value.graph]);
  useLayoutEffect(() => {
    shownCommit.value = catalog.value?.graph_commit_id ?? "";
  }, [catalog.value]);
  return html`<${Show} of=${catalog} lines=${10}>
    ${(/** @type {any} */ found) => {
      const types = typesOf(found);
      const head = commits.value?.commits.find((/** @type {any} */ item) => item.graph_commit_id === found.graph_commit_id);
      return html`
        <${Title} catalog=${found} head=${head} />
        <div class="stack">
          <div class="tiles">
            ${types.slice(0, TILES_SHOWN).map(
              (type) => html`<a class="tile" href=${link("browse", { type: type.name, kind: type.kind === "edge" ? "edge" : "" })} title=${type.description ?? type.name}>
                <span><${TypeDot} catalog=${found} type=${type} />${type.name}</span><strong>${count(type.count)}</strong>
              </a>`,
            )}
          </div>
          ${types.length > TILES_SHOWN && html`<p class="quiet tiny">${TILES_SHOWN} of ${count(types.length)} types shown</p>`}
          <div class="columns">
            ${found.nodes.length ? html`<${Schema} catalog=${found} />` : html`<${Empty} title="The schema has no types">Declare them: <code>omnigraph schema apply</code>.<//>`}
            <div class="stack">
              <${Show} of=${commits}>${(/** @type {any} */ list) => html`<${LastChanges} commits=${list.commits} />`}<//>
              <${Show} of=${branches}>${(/** @type {any} */ others) => html`<${Branches} others=${others} />`}<//>
            </div>
          </div>
        </div>
      `;
    }}
  <//>`;
}
