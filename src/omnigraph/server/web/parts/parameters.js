/** The parameters of a query as a form: a field for each, by its declared type. */
import { html } from "../vendor/core.js";
import { typedValue } from "./values.js";

/** The parts of a type as a query writes it, such as `[String]?`. @type {(type: string) => {scalar: string, is_list: boolean, nullable: boolean}} */
export function typeParts(type) {
  const nullable = type.endsWith("?");
  const bare = nullable ? type.slice(0, -1) : type;
  const isList = bare.startsWith("[");
  return { scalar: (isList ? bare.slice(1, -1) : bare).replace(/\(.*/, ""), is_list: isList, nullable };
}

/** The values of all parameters; raises for texts that are no value. @type {(parameters: any[], given: Record<string, string>) => Record<string, any>} */
export function valuesOf(parameters, given) {
  return Object.fromEntries(
    parameters.map(({ name, type }) => {
      try {
        return [name, typedValue(typeParts(type), given[name] ?? "")];
      } catch {
        throw new Error(`$${name} is no ${type}: write a JSON list such as [1, 2]`);
      }
    }),
  );
}

const KINDS = /** @type {Record<string, string>} */ ({ Date: "date", DateTime: "text" });

/** @param {{name: string, type: string, value: string, onInput: (text: string) => void}} props */
function Field({ name, type, value, onInput }) {
  const { scalar, is_list: isList, nullable } = typeParts(type);
  const input = (/** @type {any} */ event) => onInput(event.target.value);
  if (scalar === "Bool" && !isList) {
    return html`<select name=${`param-${name}`} value=${value || (nullable ? "" : "false")} onChange=${input}>
      ${nullable && html`<option value="">null</option>`}<option value="true">true</option><option value="false">false</option>
    </select>`;
  }
  const isNumber = /^[IUF]\d+$/.test(scalar) && !isList;
  const hint = isList || scalar === "Vector" ? "[…]" : scalar === "DateTime" ? "2026-01-31T12:00:00Z" : nullable ? "null" : "";
  return html`<input name=${`param-${name}`} type=${isList ? "text" : (KINDS[scalar] ?? "text")} inputmode=${isNumber ? "decimal" : undefined} placeholder=${hint} value=${value} onInput=${input} />`;
}

/** @param {{parameters: any[], given: Record<string, string>, onChange: (given: Record<string, string>) => void}} props */
export function Parameters({ parameters, given, onChange }) {
  return html`<section class="card" aria-label="Parameters">
    <header><h2>Parameters</h2></header>
    ${parameters.length === 0 && html`<p class="quiet tiny">None declared. Write <code>query name($city: String) …</code> to ask for one.</p>`}
    <div class="stack tight">
      ${parameters.map(
        ({ name, type }) => html`<label>
          <span>${name} <span class="field-note">${type}</span></span>
          <${Field} name=${name} type=${type} value=${given[name] ?? ""} onInput=${(/** @type {string} */ text) => onChange({ ...given, [name]: text })} />
        </label>`,
      )}
    </div>
  </section>`;
}
