/** Editing one entity, on a branch only: a new branch or one that exists, then a mutation of the changed properties. */
import { html, useRef, useState } from "../vendor/core.js";
import { call, writeKey } from "../api.js";
import { Dialog } from "./dialog.js";
import { Problem, useLoaded, useWork } from "./loading.js";
import { text, typedValue } from "./values.js";
import { link, notice, revision, route, setParams } from "../state.js";

const KEPT_AS_TEXT = new Set(["Blob", "Vector"]);

/** Properties that a form can change: keys name the entity, blobs and vectors are no text. @type {(type: any) => any[]} */
const editable = (type) => type.properties.filter((/** @type {any} */ item) => !item.is_key && !KEPT_AS_TEXT.has(item.scalar));

/** @type {(value: any) => string} */
const asText = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** The text of an update of some properties; their values are parameters. @type {(type: any, names: string[]) => string} */
function updateOf(type, names) {
  const declared = names.map((name, i) => `$v${i}: ${type.properties.find((/** @type {any} */ item) => item.name === name).type}`);
  return `query edit($id: String, ${declared.join(", ")}) { update ${type.name} set { ${names.map((name, i) => `${name}: $v${i}`).join(", ")} } where id = $id }`;
}

/** A branch to work on. @type {(actor: string) => string} */
const freshName = (actor) => `edit/${actor}/${new Date().toISOString().slice(0, 19).replace(/\D/g, "")}`;

/** @param {{property: any, value: string, onInput: (text: string) => void}} props */
function Field({ property, value, onInput }) {
  const input = (/** @type {any} */ event) => onInput(event.target.value);
  const options = property.enum_values ?? (property.scalar === "Bool" && !property.is_list ? ["true", "false"] : null);
  return html`<label>
    <span>${property.name} <span class="field-note">${property.type}${property.description ? `: ${property.description}` : ""}</span></span>
    ${options
      ? html`<select name=${`edit-${property.name}`} value=${value} onChange=${input}>${(property.nullable || value === "") && html`<option value=""></option>`}${options.map((/** @type {string} */ name) => html`<option value=${name}>${name}</option>`)}</select>`
      : value.length > 60
        ? html`<textarea name=${`edit-${property.name}`} value=${value} onInput=${input}></textarea>`
        : html`<input name=${`edit-${property.name}`} type=${property.scalar === "Date" && !property.is_list ? "date" : "text"} value=${value} placeholder=${property.nullable ? "null" : ""} onInput=${input} />`}
  </label>`;
}

/** Where the change is made: never on main, and never on a commit. @param {{place: string, onPlace: (name: string) => void, fresh: string}} props */
function Place({ place, onPlace, fresh }) {
  const branches = useLoaded(() => call("branches"), [route.value.graph]);
  const others = (branches.value?.branches ?? []).filter((/** @type {string} */ name) => name !== "main");
  return html`<label>
    <span>Branch <span class="field-note">changes are reviewed before they reach main</span></span>
    <select name="edit-branch" value=${place} onChange=${(/** @type {any} */ event) => onPlace(event.target.value)}>
      <option value=${fresh}>new: ${fresh}</option>
      ${others.map((/** @type {string} */ name) => html`<option value=${name}>${name}</option>`)}
    </select>
  </label>`;
}

/** @param {{type: any, entity: any, actor: string, onClose: () => void}} props */
export function EditDialog({ type, entity, actor, onClose }) {
  const { ref = "main", at } = route.value.params;
  const [fresh] = useState(() => freshName(actor));
  const [place, setPlace] = useState(ref !== "main" && !at ? ref : fresh);
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ ({}));
  const [message, setMessage] = useState("");
  const work = useWork();
  const isMade = useRef(false);
  const properties = editable(type);
  const changed = Object.keys(typed).filter((name) => typed[name] !== asText(entity.properties[name]));
  const write = async (/** @type {() => Promise<any>} */ change, /** @type {string} */ done) => {
    // A change that was refused leaves the new branch behind; the next try uses it.
    if (place === fresh && !isMade.current) await call("branches", { body: { name: place, from: at ? "main" : ref } });
    isMade.current ||= place === fresh;
    await change();
    onClose();
    revision.value += 1;
    notice.value = done;
    setParams({ ref: place, at: "" });
  };
  const headers = { ...writeKey(), ...(message ? { "omnigraph-message": encodeURIComponent(message) } : {}) };
  const save = () =>
    work.run(async () => {
      const values = Object.fromEntries(
        changed.map((name) => {
          const property = properties.find((item) => item.name === name);
          try {
            return [name, typedValue(property, typed[name])];
          } catch {
            throw new Error(`${name} is no ${property.type}: write a JSON list such as ["a", "b"]`);
          }
        }),
      );
      const params = { id: entity.id, ...Object.fromEntries(changed.map((name, i) => [`v${i}`, values[name]])) };
      await write(() => call("mutate", { body: { query: updateOf(type, changed), params, branch: place }, headers }), `Changed on ${place}.`);
    });
  const remove = () => {
    const lost = type.kind === "node" ? `${type.name} ${entity.id} and all of its edges` : `the edge ${entity.id}`;
    if (!confirm(`Delete ${lost} on ${place}?`)) return;
    const query = `query remove($id: String) { delete ${type.name} where id = $id }`;
    work.run(() => write(() => call("mutate", { body: { query, params: { id: entity.id }, branch: place }, headers }), `Deleted on ${place}.`));
  };
  return html`<${Dialog} title=${`Edit ${type.name} ${entity.id}`} onClose=${onClose}>
    <form class="stack tight" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), save())}>
      <${Place} place=${place} onPlace=${setPlace} fresh=${fresh} />
      ${at && html`<p class="quiet tiny">The commit that is shown does not change: the new values are set on the branch.</p>`}
      ${properties.map((property) => html`<${Field} key=${property.name} property=${property} value=${typed[property.name] ?? asText(entity.properties[property.name])} onInput=${(/** @type {string} */ value) => setTyped({ ...typed, [property.name]: value })} />`)}
      ${properties.length === 0 && html`<p class="quiet">All properties of this type are keys or binary.</p>`}
      <label>Message<input name="edit-message" value=${message} placeholder=${changed.length ? `set ${changed.join(", ")}` : ""} onInput=${(/** @type {any} */ event) => setMessage(event.target.value)} /></label>
      ${changed.map((name) => html`<p class="tiny"><span class="quiet">${name}</span> <del>${text(entity.properties[name])}</del> → <ins>${typed[name] === "" ? "null" : typed[name]}</ins></p>`)}
      ${work.error && html`<${Problem} error=${work.error} what="Nothing was changed" />`}
      <div class="line">
        <button class="main" disabled=${!changed.length || work.isRunning}>Save on the branch</button>
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="button" class="danger end" disabled=${work.isRunning} onClick=${remove}>Delete…</button>
      </div>
    </form>
  <//>`;
}

/** A way from a branch that was edited to its review. */
export const ReviewHint = () => {
  const { ref, at } = route.value.params;
  return ref && ref !== "main" && !at ? html`<a class="button small" href=${link("review", { source: ref, target: "main", ref: "" })}>Review ${ref}</a>` : null;
};
