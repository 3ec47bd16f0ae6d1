/** Review: the changes of a branch as a graph and a list, conflicts settled in place, checks, comments, merge. */
import { html, useEffect, useMemo, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { Compared, MAIN, otherBranches } from "../parts/branches.js";
import { ChangePicture } from "../parts/change_picture.js";
import { DiffChanges } from "../parts/changes.js";
import { Checks, SchemaConflict, storedChecks } from "../parts/checks.js";
import { conflictKey, Conflicts, fitting, isBroken, resolutionsOf } from "../parts/conflicts.js";
import { Empty, Problem, Show, useLoaded, useWork } from "../parts/loading.js";
import { Comments, isMoved, saveReview } from "../parts/reviews.js";
import { schemaChanges } from "../parts/schema_changes.js";
import { Changed, Commit, count, counted, short, When } from "../parts/values.js";
import { link, parsed, revision, route, setParams } from "../state.js";

const AGAIN_MS = 200;

/** Choices that are not saved yet are kept for this tab, by graph and branches: they outlive a head that moved. */
const choicesKey = (/** @type {any} */ { source, target }) => `omnigraph-review ${route.value.graph} ${source} ${target}`;

/** @type {(source: string, goal: string, saved?: string) => Promise<any>} */
async function load(source, goal, saved) {
  const [preview, checked, review] = await Promise.all([
    call("merge/preview", { body: { source, target: goal } }),
    storedChecks(source),
    saved ? call(`reviews/${saved}`) : Promise.resolve(null),
  ]);
  const from = preview.base_commit_id ?? preview.target_commit_id;
  const [diff, ...catalogs] = await Promise.all([
    call("diff", { query: { from, to: preview.source_commit_id, summary: true } }),
    ...[from, preview.source_commit_id].map((snapshot) => call("catalog", { query: { snapshot } })),
  ]);
  return { preview, diff, checked, review, schema: schemaChanges(catalogs[0], catalogs[1]) };
}

/** Merge with the heads that were shown. @param {{preview: any, choices: Record<string, any>, saved: any, blocks: string[]}} props */
function Merge({ preview, choices, saved, blocks }) {
  const [message, setMessage] = useState(`merge ${preview.source}`);
  const [deletes, setDeletes] = useState(false);
  const [done, setDone] = useState(/** @type {any} */ (null));
  const work = useWork();
  const merge = () =>
    work.run(async () => {
      const answer = await call("merge", {
        body: { source: preview.source, target: preview.target, resolutions: resolutionsOf(choices), expected_source: preview.source_commit_id, expected_target: preview.target_commit_id, message, delete_branch: deletes },
        headers: writeKey(),
      });
      sessionStorage.removeItem(choicesKey(preview));
      const made = answer.commit?.graph_commit_id;
      if (saved) await saveReview(saved, preview, choices, { state: "merged", ...(made ? { merge_commit_id: made } : {}) }).catch(() => undefined);
      setDone(answer);
    });
  if (done) {
    const id = done.commit?.graph_commit_id;
    return html`<div class="state" role="status">
      <strong class="plus">✓ Merged into ${preview.target}</strong>
      <p>${id && html`<a href=${link("history", { commit: id, source: "", target: "", saved: "" })}>commit @${short(id)}</a>`}${done.branch_deleted ? `; ${preview.source} was deleted` : ""}</p>
    </div>`;
  }
  return html`<section class="card stack tight" aria-label="Merge">
    <label>Message<input name="message" value=${message} onInput=${(/** @type {any} */ event) => setMessage(event.target.value)} /></label>
    <div class="line">
      <button class="main" disabled=${blocks.length > 0 || work.isRunning} onClick=${merge}>${work.isRunning ? "Merging…" : `Merge into ${preview.target}`}</button>
      <label class="inline tiny"><input type="checkbox" checked=${deletes} onChange=${(/** @type {any} */ event) => setDeletes(event.target.checked)} /> delete ${preview.source} afterwards</label>
      <span class="quiet tiny" data-name="blocks">${blocks.length ? `off: ${blocks.join("; ")}` : html`at the heads <${Commit} id=${preview.source_commit_id} /> and <${Commit} id=${preview.target_commit_id} />`}</span>
    </div>
    ${work.error?.status === 412 && html`<p role="alert">A branch has moved since this preview; nothing was merged. <button onClick=${() => (revision.value += 1)}>Compute again</button></p>`}
    ${work.error && work.error.status !== 412 && html`<${Problem} error=${work.error} what="Nothing was merged" />`}
  </section>`;
}

/** Constraints that the merge breaks with the choices so far: the server decides again when a choice was made. @type {(preview: any, choices: Record<string, any>) => any[]} */
function useBroken(preview, choices) {
  const again = async () => {
    if (!Object.keys(choices).length) return preview;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return call("merge/preview", { body: { source: preview.source, target: preview.target, resolutions: resolutionsOf(choices) } });
  };
  const found = useLoaded(again, [preview, choices]).value;
  // After a head has moved, the answer is about another merge; the person is asked when this one is made.
  const isSame = found && found.source_commit_id === preview.source_commit_id && found.target_commit_id === preview.target_commit_id;
  return (isSame ? found : preview).merge_conflicts.filter(isBroken);
}

/** @param {{found: any}} props */
function Loaded({ found }) {
  const { preview, diff, checked, schema } = found;
  const { params } = route.value;
  const [saved, setSaved] = useState(found.review);
  const [subject, setSubject] = useState(/** @type {any} */ (null));
  const first = useMemo(() => fitting(preview.merge_conflicts, parsed(sessionStorage.getItem(choicesKey(preview)) ?? "", Object.values(found.review?.choices ?? {}))), [preview]);
  const [made, setMade] = useState({ preview, choices: first.kept });
  // Choices belong to the preview that they were made for; another one begins with those that still fit.
  const choicesOf = (/** @type {any} */ kept) => (kept.preview === preview ? kept.choices : first.kept);
  const choices = choicesOf(made);
  const choose = (/** @type {(before: any) => any} */ change) => setMade((before) => ({ preview, choices: change(choicesOf(before)) }));
  useEffect(() => sessionStorage.setItem(choicesKey(preview), JSON.stringify(Object.values(choices))), [choices]);
  const broken = useBroken(preview, choices);
  // A choice may break a constraint that held before: it is settled like the others.
  const conflicts = useMemo(() => [...new Map([...preview.merge_conflicts, ...broken].map((item) => [conflictKey(item), item])).values()], [preview, broken.map(conflictKey).join()]);
  const changedTwice = preview.merge_conflicts.filter((/** @type {any} */ item) => !isBroken(item));
  const open = changedTwice.filter((/** @type {any} */ item) => !choices[conflictKey(item)]).length;
  const failed = checked.filter((/** @type {any} */ item) => item.rows !== 0);
  const { inserts, updates, deletes } = diff.stats;
  const total = inserts + updates + deletes;
  const blocks = [
    open > 0 && (open === 1 ? "1 conflict is open" : `${count(open)} conflicts are open`),
    broken.length > 0 && `${counted(broken.length, "constraint is", "constraints are")} broken`,
    failed.length > 0 && `${failed.map((/** @type {any} */ item) => item.name).join(", ")} ${failed.length === 1 ? "finds" : "find"} rows`,
    total === 0 && "nothing to merge",
  ].filter((text) => typeof text === "string");
  return html`
    <div class="title-line">
      <h1>${preview.source} → ${preview.target}</h1>
      <${Changed} counts=${[inserts, updates, deletes]} />
      ${conflicts.length > 0 && html`<span class=${`badge ${open + broken.length ? "minus" : "plus"}`}>${open + broken.length ? "!" : "✓"} ${counted(conflicts.length, "conflict")}</span>`}
      ${saved && saved.state !== "open" && html`<span class="badge plus">${saved.state}</span>`}
      <span class="quiet tiny end">heads <${Commit} id=${preview.source_commit_id} /> and <${Commit} id=${preview.target_commit_id} /></span>
    </div>
    ${saved && saved.state === "open" && isMoved(saved, preview) && html`<p class="banner card" role="status">A branch has moved since this review was saved, so it was computed again. ${first.dropped ? `${counted(first.dropped, "choice")} no longer fit and ${first.dropped === 1 ? "was" : "were"} dropped.` : "All choices still fit."}</p>`}
    <div class="columns">
      <div class="stack">
        ${total > 0 && html`<${ChangePicture} from=${diff.from} to=${diff.to} conflicts=${conflicts} type=${params.type} focus=${subject ? `${subject.type.name}/${subject.id}` : undefined} onType=${(/** @type {string} */ name) => setParams({ type: name })} />`}
        <${Checks} conflicts=${changedTwice.length} open=${open} broken=${broken} schema=${schema} checked=${checked} />
        <${Merge} key=${preview.source_commit_id + preview.target_commit_id} preview=${preview} choices=${choices} saved=${saved} blocks=${blocks} />
      </div>
      <div class="stack">
        ${conflicts.length > 0 && html`<${Conflicts} conflicts=${conflicts} choices=${choices} onChange=${choose} />`}
        <section class="card" aria-label="Changes">
          <header><h2>${counted(total, "change")}</h2></header>
          ${total === 0 ? html`<${Empty} title="Nothing to merge">${preview.source} has nothing that ${preview.target} lacks.<//>` : html`<${DiffChanges} from=${diff.from} to=${diff.to} tables=${diff.tables} onPick=${setSubject} />`}
        </section>
        <${Comments} saved=${saved} preview=${preview} choices=${choices} subject=${subject} onSubject=${setSubject} onSaved=${setSaved} />
      </div>
    </div>
  `;
}

/** @param {{others: import("../parts/branches.js").Branch[], reviews: any[]}} props */
function Choose({ others, reviews }) {
  return html`<div class="title-line"><h1>Review</h1><span class="quiet">what a branch would bring, before it is merged</span></div>
    <div class="columns even">
      <section class="card" aria-label="Branches">
        <header><h2>Branches</h2></header>
        ${others.length === 0
          ? html`<${Empty} title="There is no branch beside main">Edit an entity in Browse, or run <code>omnigraph branch create NAME</code>.<//>`
          : html`<ul class="rows">${others.map((branch) => html`<li><a href=${link("review", { source: branch.name, target: MAIN })}>${branch.name} → ${MAIN}</a><${Compared} branch=${branch} /></li>`)}</ul>`}
      </section>
      <section class="card" aria-label="Saved reviews">
        <header><h2>Saved reviews</h2></header>
        ${reviews.length === 0 && html`<${Empty}>A review is saved with its choices and comments, for others to see.<//>`}
        <ul class="rows">
          ${reviews.map(
            (item) => html`<li><a href=${link("review", { source: item.source, target: item.target, saved: item.id })}>${item.title || `${item.source} → ${item.target}`}</a>
              <span class=${`badge ${item.state === "merged" ? "plus" : ""}`}>${item.state}</span>
              <span class="quiet tiny">${counted(item.comments_total, "comment")} · ${item.updated_by ?? "anonymous"} · <${When} micros=${item.updated_at} /></span></li>`,
          )}
        </ul>
      </section>
    </div>`;
}

export default function Review() {
  const { graph, params } = route.value;
  const { source, target: goal = MAIN, saved } = params;
  const branches = useLoaded(() => (source ? Promise.resolve([]) : otherBranches()), [graph, source]);
  const reviews = useLoaded(() => (source ? Promise.resolve({ reviews: [] }) : call("reviews").catch(() => ({ reviews: [] }))), [graph, source]);
  // The address gets the id when a review is saved; that does not change what was read.
  const opened = useMemo(() => saved, [graph, source, goal]);
  const review = useLoaded(() => (source ? load(source, goal, opened) : Promise.resolve(null)), [graph, source, goal, opened]);
  if (!source) return html`<${Show} of=${branches}>${(/** @type {any} */ others) => html`<${Choose} others=${others} reviews=${reviews.value?.reviews ?? []} />`}<//>`;
  if (review.error?.body?.problem?.code === "schema_conflict") {
    return html`<div class="title-line"><h1>${source} → ${goal}</h1></div><${SchemaConflict} message=${review.error.message} hint=${review.error.hint} />`;
  }
  // The review of other branches must not stand under this address while this one is computed.
  const isOther = review.value && (review.value.preview.source !== source || review.value.preview.target !== goal);
  return html`<${Show} of=${isOther ? { isLoading: true } : review} lines=${10}>${(/** @type {any} */ found) => found && html`<${Loaded} key=${`${source} ${goal}`} found=${found} />`}<//>`;
}
