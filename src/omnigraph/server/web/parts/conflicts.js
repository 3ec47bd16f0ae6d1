/** Conflicts of a merge and constraints that it breaks, settled in place: source, target, another value, deletion, or one
 * rule for all that are alike. */
import { html, useState } from "../vendor/core.js";
import { counted, text } from "./values.js";

/** @typedef {{type: string, id: string, property: string | null, kind: string | null, take: string, value?: any, base: any, source: any, target: any}} Choice */

const SHOWN_MAX = 100;
/** Ways to settle a broken constraint, by its kind. */
const WAYS = /** @type {Record<string, string[]>} */ ({
  orphan_edge: ["source", "target", "delete"],
  unique_violation: ["source", "target", "value", "delete"],
  cardinality_violation: ["source", "target"],
  value_constraint_violation: ["value", "delete"],
});

/** A constraint of the merged graph that is broken: both sides are valid, and together they are not. @type {(conflict: any) => boolean} */
export const isBroken = (conflict) => conflict.kind in WAYS;

/** @type {(conflict: any) => string[]} */
const waysOf = (conflict) => (WAYS[conflict.kind] ?? ["source", "target", "value"]).filter((way) => way !== "value" || conflict.property);

/** @type {(conflict: any) => string} */
export const conflictKey = (conflict) => `${conflict.type_name ?? conflict.type}/${conflict.entity_id ?? conflict.id}/${conflict.property ?? ""}${isBroken(conflict) ? ` ${conflict.kind}` : ""}`;

/** The choice for a conflict, with the values that it was made for. @type {(conflict: any, take: string, value?: any) => Choice} */
export const choose = (conflict, take, value = null) => ({ type: conflict.type_name, id: conflict.entity_id, property: conflict.property ?? null, kind: isBroken(conflict) ? conflict.kind : null, take, value, base: conflict.base ?? null, source: conflict.source ?? null, target: conflict.target ?? null });

/** Choices that still fit: the conflict exists, and its three values are those that were seen.
 * @type {(conflicts: any[], choices: Choice[]) => {kept: Record<string, Choice>, dropped: number}} */
export function fitting(conflicts, choices) {
  const same = (/** @type {any} */ a, /** @type {any} */ b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
  const known = new Map(conflicts.map((item) => [conflictKey(item), item]));
  const kept = choices.filter((choice) => {
    const found = known.get(conflictKey(choice));
    return found && ["base", "source", "target"].every((side) => same(found[side], choice[/** @type {"base"} */ (side)]));
  });
  return { kept: Object.fromEntries(kept.map((choice) => [conflictKey(choice), choice])), dropped: choices.length - kept.length };
}

/** What the server takes. @type {(choices: Record<string, Choice>) => any[]} */
export const resolutionsOf = (choices) =>
  Object.values(choices).map(({ type, id, property, kind, take, value }) => ({ type, id, ...(property ? { property } : {}), ...(kind ? { kind } : {}), ...(take === "value" ? { value } : { take }) }));

/** The value of a field, typed like the sides of the conflict. @type {(conflict: any, typed: string) => any} */
function typedLike(conflict, typed) {
  const like = [conflict.source, conflict.target, conflict.base].find((value) => value !== null && value !== undefined);
  if (typed === "") return null;
  if (typeof like === "number") return Number.isNaN(Number(typed)) ? typed : Number(typed);
  if (typeof like === "boolean") return typed === "true";
  try {
    return typeof like === "object" ? JSON.parse(typed) : typed;
  } catch {
    return typed;
  }
}

/** @param {{conflict: any, choice?: Choice, alike: number, onChoose: (choice: Choice) => void, onRule: () => void}} props */
function Conflict({ conflict, choice, alike, onChoose, onRule }) {
  const [typed, setTyped] = useState(choice?.take === "value" ? text(choice.value) : "");
  const name = conflictKey(conflict);
  const ways = waysOf(conflict);
  const hasValues = conflict.property && !isBroken(conflict);
  const meanings = /** @type {Record<string, string>} */ ({ source: "as in the source", target: "as in the target", delete: `delete ${conflict.entity_kind === "edge" ? "the edge" : conflict.entity_id}` });
  const side = (/** @type {string} */ take) => html`<label class="option">
    <input type="radio" name=${name} checked=${choice?.take === take} onChange=${() => onChoose(choose(conflict, take))} />
    <span><span class="quiet tiny">${take}</span> <strong>${hasValues ? text(conflict[take]) : meanings[take]}</strong></span>
  </label>`;
  const value = (/** @type {string} */ next) => {
    setTyped(next);
    onChoose(choose(conflict, "value", typedLike(conflict, next)));
  };
  return html`<fieldset class=${`conflict ${choice ? "settled" : ""}`}>
    <legend class="hidden">Conflict of ${name}</legend>
    <div class="line spread">
      <span><strong class=${choice ? "plus" : "minus"}>${choice ? "✓" : "!"}</strong> ${conflict.type_name} <strong>${conflict.entity_id}</strong>${conflict.property ? html` · ${conflict.property}` : ""}</span>
      <span class="quiet tiny">${hasValues ? html`base <strong>${text(conflict.base)}</strong>` : conflict.message}</span>
    </div>
    <div class="options">
      ${ways.filter((way) => way !== "value").map(side)}
      ${ways.includes("value") &&
      html`<label class="option">
        <input type="radio" name=${name} aria-label="another value" checked=${choice?.take === "value"} onChange=${() => value(typed)} />
        <input aria-label=${`Value for ${name}`} placeholder="another value" value=${typed} onInput=${(/** @type {any} */ event) => value(event.target.value)} />
      </label>`}
    </div>
    ${choice && choice.take !== "value" && alike > 1 && html`<div><button class="small" onClick=${onRule}>${choice.take} for all ${alike} of ${conflict.type_name}${conflict.property ? `.${conflict.property}` : ""}</button></div>`}
  </fieldset>`;
}

/** @param {{conflicts: any[], choices: Record<string, Choice>, onChange: (next: (before: any) => any) => void}} props */
export function Conflicts({ conflicts, choices, onChange }) {
  const settle = (/** @type {Record<string, Choice>} */ items) => onChange((/** @type {any} */ before) => ({ ...before, ...items }));
  const likes = (/** @type {any} */ like) => conflicts.filter((item) => item.type_name === like.type_name && item.property === like.property && isBroken(item) === isBroken(like) && (!isBroken(item) || item.kind === like.kind));
  const rule = (/** @type {any} */ like) => settle(Object.fromEntries(likes(like).map((item) => [conflictKey(item), choose(item, choices[conflictKey(like)].take)])));
  const all = (/** @type {string} */ take) => settle(Object.fromEntries(conflicts.filter((item) => waysOf(item).includes(take)).map((item) => [conflictKey(item), choose(item, take)])));
  return html`<section class="card" aria-label="Conflicts">
    <header><h2>${counted(conflicts.length, "conflict")}</h2>
      <span class="line tiny"><span class="quiet">all:</span> <button class="small" onClick=${() => all("source")}>source</button><button class="small" onClick=${() => all("target")}>target</button></span>
    </header>
    <div class="stack tight">
      ${conflicts.slice(0, SHOWN_MAX).map(
        (item) => html`<${Conflict}
          key=${conflictKey(item)}
          conflict=${item}
          choice=${choices[conflictKey(item)]}
          alike=${likes(item).length}
          onChoose=${(/** @type {Choice} */ choice) => settle({ [conflictKey(item)]: choice })}
          onRule=${() => rule(item)}
        />`,
      )}
      ${conflicts.length > SHOWN_MAX && html`<p class="quiet tiny">${SHOWN_MAX} of ${counted(conflicts.length, "conflict")} shown; a rule settles those that are not.</p>`}
    </div>
  </section>`;
}
