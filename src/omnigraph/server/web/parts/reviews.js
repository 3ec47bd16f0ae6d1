/** A saved review: kept with both heads on the server, with comments that say which heads their authors saw. */
import { html, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { Problem, useWork } from "./loading.js";
import { counted, When } from "./values.js";
import { notice, setParams } from "../state.js";

/** @type {(preview: any) => {source_commit_id: string, target_commit_id: string}} */
export const headsOf = (preview) => ({ source_commit_id: preview.source_commit_id, target_commit_id: preview.target_commit_id });

/** @type {(saved: any, preview: any) => boolean} */
export const isMoved = (saved, preview) => saved.source_commit_id !== preview.source_commit_id || saved.target_commit_id !== preview.target_commit_id;

/** Save a review, or the next version of it. @type {(saved: any, preview: any, choices: any, changes?: any) => Promise<any>} */
export function saveReview(saved, preview, choices, changes = {}) {
  const body = { ...headsOf(preview), choices: Object.values(choices), ...changes };
  if (saved) return call(`reviews/${saved.id}`, { body: { version: saved.version, ...body } });
  return call("reviews", { body: { source: preview.source, target: preview.target, title: `${preview.source} into ${preview.target}`, ...body } });
}

/** @param {{comment: any, preview: any}} props */
function Comment({ comment, preview }) {
  const about = comment.about;
  return html`<li class="comment">
    <div class="line tiny">
      <strong>${comment.actor_id ?? "anonymous"}</strong> <span class="quiet"><${When} micros=${comment.created_at} /></span>
      ${about && html`<span class="chip">${about.type} ${about.id}${about.property ? ` · ${about.property}` : ""}</span>`}
      ${isMoved(comment, preview) && html`<span class="badge tilde" title="A branch has moved since this was written">earlier heads</span>`}
    </div>
    <p>${comment.text}</p>
  </li>`;
}

/** @param {{saved: any, preview: any, choices: any, subject: any, onSubject: (subject: any) => void, onSaved: (saved: any) => void}} props */
export function Comments({ saved, preview, choices, subject, onSubject, onSaved }) {
  const [text, setText] = useState("");
  const work = useWork();
  const save = () =>
    work.run(async () => {
      const made = await saveReview(saved, preview, choices);
      onSaved(made);
      setParams({ saved: made.id }, true);
      notice.value = "The review is saved, with its choices.";
    });
  const comment = () =>
    work.run(async () => {
      const review = saved ?? (await saveReview(null, preview, choices));
      const about = subject ? { type: subject.type.name, id: subject.id } : undefined;
      await call(`reviews/${review.id}/comments`, { body: { text, about, ...headsOf(preview) } });
      setText("");
      onSubject(null);
      setParams({ saved: review.id }, true);
      onSaved(await call(`reviews/${review.id}`));
    });
  return html`<section class="card" aria-label="Comments">
    <header>
      <h2>${saved?.comments.length ? counted(saved.comments.length, "comment") : "Comments"}</h2>
      <span class="line tiny">${saved ? html`<span class="badge plus">saved by ${saved.updated_by ?? "anonymous"}</span>` : html`<span class="quiet">not saved yet</span>`}<button class="small" disabled=${work.isRunning} onClick=${save}>${saved ? "Save choices" : "Save review"}</button></span>
    </header>
    <div class="stack tight">
      ${saved?.comments.length > 0 && html`<ul class="stack tight rows">${saved.comments.map((/** @type {any} */ item) => html`<${Comment} key=${item.id} comment=${item} preview=${preview} />`)}</ul>`}
      ${subject && html`<span class="chip">about ${subject.type.name} ${subject.id} <button aria-label="Not about this entity" onClick=${() => onSubject(null)}>✕</button></span>`}
      <textarea aria-label="Comment" placeholder="What should the others know?" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
      <div class="line"><button disabled=${!text.trim() || work.isRunning} onClick=${comment}>Comment</button><span class="quiet tiny">Pick a change in the list to comment on it.</span></div>
      ${work.error && html`<${Problem} error=${work.error} />`}
    </div>
  </section>`;
}
