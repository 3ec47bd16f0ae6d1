/** Conflicts of a merge, settled in place: source, target, another value, or one rule for all that are alike. */
import { html, useState } from "../vendor/core.js";
import { text } from "./values.js";

/** @typedef {{type: string, id: string, property?: string, take?: string, value?: any}} Resolution */

/** @type {(conflict: any) => string} */
export const keyOf = (conflict) => `${conflict.type_name}/${conflict.entity_id}/${conflict.property ?? ""}`;

/** @type {(choices: Record<string, Resolution>) => Resolution[]} */
export const resolutionsOf = (choices) => Object.values(choices);

/** The value of a field, typed like the sides of the conflict. @type {(conflict: any, typed: string) => any} */
function typedLike(conflict, typed) {
  const like = [conflict.source, conflict.target, conflict.base].find((value) => value !== null && value !== undefined);
  if (typed === "") return null;
  if (typeof like === "number") return Number(typed);
  if (typeof like === "boolean") return typed === "true";
  return typeof like === "object" ? JSON.parse(typed) : typed;
}

/** @param {{conflict: any, choice?: Resolution, onChoose: (choice: Resolution) => void, onRule: (take: string) => void}} props */
function Conflict({ conflict, choice, onChoose, onRule }) {
  const [typed, setTyped] = useState("");
  const about = { type: conflict.type_name, id: conflict.entity_id, ...(conflict.property ? { property: conflict.property } : {}) };
  const name = keyOf(conflict);
  const side = (take) => html`<label class="inline">
    <input type="radio" name=${name} checked=${choice?.take === take} onChange=${() => onChoose({ ...about, take })} />
    ${take} <strong>${conflict.property ? text(conflict[take]) : ""}</strong>
  </label>`;
  return html`<fieldset class=${`conflict ${choice ? "settled" : ""}`}>
    <legend class="hidden">Conflict of ${name}</legend>
    <div class="line spread">
      <span><strong class=${choice ? "plus" : "minus"}>${choice ? "✓" : "!"}</strong> ${conflict.type_name} <strong>${conflict.entity_id}</strong> ${conflict.property ?? ""}</span>
      <span class="quiet">${conflict.property ? html`base ${text(conflict.base)}` : conflict.message}</span>
    </div>
    <div class="line">
      ${side("source")} ${side("target")}
      ${conflict.property &&
      html`<label class="inline">
        <input type="radio" name=${name} checked=${choice !== undefined && !choice.take} onChange=${() => onChoose({ ...about, value: typedLike(conflict, typed) })} />
        value
        <input
          aria-label=${`Value for ${name}`}
          size="8"
          value=${typed}
          onInput=${(event) => {
            setTyped(event.target.value);
            onChoose({ ...about, value: typedLike(conflict, event.target.value) });
          }}
        />
      </label>`}
      ${choice?.take && html`<button onClick=${() => onRule(choice.take)}>${choice.take} for all of ${conflict.type_name}${conflict.property ? `.${conflict.property}` : ""}</button>`}
    </div>
  </fieldset>`;
}

/** @param {{conflicts: any[], choices: Record<string, Resolution>, onChange: (choices: any) => void}} props */
export function Conflicts({ conflicts, choices, onChange }) {
  const settle = (items) => onChange((before) => ({ ...before, ...items }));
  function rule(like, take) {
    const alike = conflicts.filter((item) => item.type_name === like.type_name && item.property === like.property);
    settle(
      Object.fromEntries(
        alike.map((item) => [keyOf(item), { type: item.type_name, id: item.entity_id, ...(item.property ? { property: item.property } : {}), take }]),
      ),
    );
  }
  return html`<section class="card" aria-label="Conflicts">
    <h2>Conflicts</h2>
    ${conflicts.map(
      (item) => html`<${Conflict}
        key=${keyOf(item)}
        conflict=${item}
        choice=${choices[keyOf(item)]}
        onChoose=${(choice) => settle({ [keyOf(item)]: choice })}
        onRule=${(take) => rule(item, take)}
      />`,
    )}
  </section>`;
}
