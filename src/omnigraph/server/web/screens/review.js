/** Review: the changes of a branch as a graph and a list, conflicts settled in place, checks, merge. */
import { html, useEffect, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { Changes } from "../parts/changes.js";
import { Conflicts, resolutionsOf } from "../parts/conflicts.js";
import { DiffPicture } from "../parts/diff_picture.js";
import { Empty, Problem, Show, useLoaded } from "../parts/loading.js";
import { Changed, short } from "../parts/values.js";
import { link, revision, route } from "../state.js";

const CHANGES_MAX = 10000;

/** Choices are kept for this tab, by graph and branches: they outlive a head that moved. */
const choicesKey = () => `omnigraph-review ${route.value.graph} ${route.value.params.source} ${route.value.params.target}`;

/** The stored queries `check_*` at the source; each must return no rows. */
async function checks(source) {
  const { queries } = await call("queries").catch(() => ({ queries: [] }));
  const named = queries.filter((item) => item.name.startsWith("check_") && !item.mutation && item.params.length === 0);
  return Promise.all(
    named.map(async ({ name }) => {
      try {
        const found = await call(`queries/${encodeURIComponent(name)}`, { body: { branch: source } });
        return { name, rows: Number(found.row_count) };
      } catch (error) {
        return { name, rows: -1, error };
      }
    }),
  );
}

async function load(source, goal) {
  const preview = await call("merge/preview", { body: { source, target: goal } });
  const from = preview.base_commit_id ?? preview.target_commit_id;
  const [diff, checked] = await Promise.all([
    call("diff", { query: { from, to: preview.source_commit_id, limit: CHANGES_MAX } }),
    checks(source),
  ]);
  return { preview, diff, checked };
}

/** @param {{isGood: boolean, children: any}} props */
const Check = ({ isGood, children }) => html`<li><span><strong class=${isGood ? "plus" : "minus"}>${isGood ? "✓" : "✗"}</strong> ${children}</span></li>`;

/** Merge with the heads that were shown. @param {{review: any, choices: Record<string, any>, blocks: string[]}} props */
function Merge({ review, choices, blocks }) {
  const { preview } = review;
  const [message, setMessage] = useState(`merge ${preview.source}`);
  const [error, setError] = useState(null);
  const [done, setDone] = useState(null);
  async function merge() {
    setError(null);
    try {
      const answer = await call("merge", {
        body: {
          source: preview.source,
          target: preview.target,
          resolutions: resolutionsOf(choices),
          expected_source: preview.source_commit_id,
          expected_target: preview.target_commit_id,
          message,
        },
        headers: writeKey(),
      });
      sessionStorage.removeItem(choicesKey());
      setDone(answer);
    } catch (problem) {
      setError(problem);
    }
  }
  if (done) {
    const id = done.commit?.graph_commit_id;
    return html`<div class="state" role="status">
      <strong class="plus">✓ Merged</strong>
      <p>${id && html`<a href=${link("history", { commit: id, source: "", target: "" })}>commit @${short(id)}</a>`}</p>
    </div>`;
  }
  return html`<section class="card stack" aria-label="Merge">
    <label>Message<input name="message" value=${message} onInput=${(event) => setMessage(event.target.value)} /></label>
    <div class="line">
      <button class="main" disabled=${blocks.length > 0} onClick=${merge}>Merge into ${preview.target}</button>
      <span class="quiet" data-name="blocks">${blocks.length ? `off: ${blocks.join("; ")}` : `heads @${short(preview.source_commit_id)} and @${short(preview.target_commit_id)}`}</span>
    </div>
    ${error?.status === 412 && html`<p role="alert">A branch has moved since this preview; nothing was merged. <button onClick=${() => (revision.value += 1)}>Compute again</button></p>`}
    ${error && error.status !== 412 && html`<${Problem} error=${error} />`}
  </section>`;
}

/** @param {{review: any}} props */
function Loaded({ review }) {
  const { preview, diff, checked } = review;
  const [choices, setChoices] = useState(() => JSON.parse(sessionStorage.getItem(choicesKey()) ?? "{}"));
  useEffect(() => sessionStorage.setItem(choicesKey(), JSON.stringify(choices)), [choices]);
  const conflicts = preview.merge_conflicts;
  const open = conflicts.filter((item) => !choices[`${item.type_name}/${item.entity_id}/${item.property ?? ""}`]).length;
  const failed = checked.filter((item) => item.rows !== 0);
  const total = diff.stats.inserts + diff.stats.updates + diff.stats.deletes;
  const blocks = [
    open > 0 && (open === 1 ? "1 conflict is open" : `${open} conflicts are open`),
    failed.length > 0 && `${failed.map((item) => item.name).join(", ")} found rows`,
    total === 0 && "nothing to merge",
  ].filter((text) => typeof text === "string");
  return html`
    <div class="line">
      <h1>${preview.source} → ${preview.target}</h1>
      <${Changed} counts=${[diff.stats.inserts, diff.stats.updates, diff.stats.deletes]} />
      ${conflicts.length > 0 && html`<strong class="minus">! ${conflicts.length} ${conflicts.length === 1 ? "conflict" : "conflicts"}</strong>`}
      <span class="quiet end" title="heads of source and target">@${short(preview.source_commit_id)} / @${short(preview.target_commit_id)}</span>
    </div>
    <div class="columns">
      <div class="stack">
        <${DiffPicture} diff=${diff} conflicts=${conflicts} base=${diff.from} />
        <section class="card" aria-label="Checks">
          <h2>Checks</h2>
          <ul class="rows">
            <${Check} isGood=${open === 0}>${conflicts.length === 0 ? "no conflicts" : open === 0 ? "every conflict is settled" : `${open} of ${conflicts.length} conflicts open`}<//>
            ${checked.map((item) => html`<${Check} key=${item.name} isGood=${item.rows === 0}>${item.name} ${item.error ? item.error.message : `returned ${item.rows} rows`}<//>`)}
          </ul>
        </section>
        <${Merge} key=${preview.source_commit_id + preview.target_commit_id} review=${review} choices=${choices} blocks=${blocks} />
      </div>
      <div class="stack">
        ${conflicts.length > 0 && html`<${Conflicts} conflicts=${conflicts} choices=${choices} onChange=${setChoices} />`}
        <section class="card" aria-label="Changes">
          <h2>Changes</h2>
          ${total === 0 ? html`<${Empty}>${preview.source} has nothing that ${preview.target} lacks.<//>` : html`<${Changes} changes=${diff.changes} total=${total} />`}
        </section>
      </div>
    </div>
  `;
}

/** @param {{branches: string[]}} props */
function Choose({ branches }) {
  const others = branches.filter((name) => name !== "main");
  return html`<h1>Review</h1>
    ${others.length === 0
      ? html`<${Empty}>There is no branch beside main.<//>`
      : html`<ul class="rows card">
          ${others.map((name) => html`<li><a href=${link("review", { source: name, target: "main" })}>${name} → main</a></li>`)}
        </ul>`}`;
}

export default function Review() {
  const { graph, params } = route.value;
  const { source, target: goal = "main" } = params;
  const branches = useLoaded(() => call("branches"), [graph]);
  const review = useLoaded(() => (source ? load(source, goal) : Promise.resolve(null)), [graph, source, goal]);
  if (!source) return html`<${Show} of=${branches}>${(found) => html`<${Choose} branches=${found.branches} />`}<//>`;
  return html`<${Show} of=${review}>${(found) => found && html`<${Loaded} key=${`${source} ${goal}`} review=${found} />`}<//>`;
}
