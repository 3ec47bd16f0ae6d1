/** One entity: its values with who set them, its neighbours, its picture, and its whole history. */
import { html, useMemo, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { nodeNames } from "./catalog.js";
import { EditDialog } from "./edit.js";
import { Problem, Show, useLoaded } from "./loading.js";
import { expandNode, keyOf, neighbourParts, Picture } from "./picture.js";
import { count, short, Value, When } from "./values.js";
import { link, moment, route, session, setParams, target } from "../state.js";

const NEIGHBOURS = 50;

/** Neighbours of a node, as links and on request as a picture. @param {{catalog: any, type: string, id: string}} props */
function Neighbours({ catalog, type, id }) {
  const isDrawn = route.value.params.draw === "1";
  const found = useLoaded(() => call("neighbours", { body: { nodes: { [type]: [id] }, limit: NEIGHBOURS, ...target() } }), [type, id, ...moment()]);
  const drawn = useMemo(() => (found.value ? neighbourParts(found.value) : null), [found.value]);
  const names = useMemo(() => new Map((found.value?.nodes ?? []).map((/** @type {any} */ node) => [keyOf(node), node.caption])), [found.value]);
  return html`<div class="stack tight">
    <div class="line spread"><h2>Neighbours</h2><button class="small" aria-pressed=${String(isDrawn)} onClick=${() => setParams({ draw: isDrawn ? "" : "1" })}>${isDrawn ? "Hide the picture" : "Draw"}</button></div>
    <${Show} of=${found}>
      ${(/** @type {any} */ value) => html`
        ${isDrawn && drawn && html`<div class="card flush"><${Picture} ...${drawn} types=${nodeNames(catalog)} focus=${`${type}/${id}`} label=${`${id} and its neighbours`} note="A double click, or e, expands a node" onPick=${(/** @type {string} */ key) => setParams({ type: key.split("/")[0], id: key.slice(key.indexOf("/") + 1), kind: "" })} onExpand=${expandNode} /></div>`}
        ${value.totals.every((/** @type {any} */ item) => Number(item.total) === 0) && html`<p class="quiet">None.</p>`}
        ${value.totals
          .filter((/** @type {any} */ item) => Number(item.total) > 0)
          .map((/** @type {any} */ item) => {
            const isOut = item.direction === "out";
            const ends = value.edges.filter((/** @type {any} */ edge) => edge.type === item.type && (isOut ? edge.source : edge.target).type === type && (isOut ? edge.source : edge.target).id === id);
            return html`<details open>
              <summary>${isOut ? "" : "← "}<strong>${item.type}</strong>${isOut ? " →" : ""} <span class="quiet">${count(item.total)}${Number(item.shown) < Number(item.total) ? `, ${count(item.shown)} shown` : ""}</span></summary>
              <div class="pills">${ends.map((/** @type {any} */ edge) => {
                const end = isOut ? edge.target : edge.source;
                return html`<a class="pill" href=${link("browse", { type: end.type, id: end.id })} title=${end.id}>${names.get(keyOf(end)) ?? end.id}</a>`;
              })}</div>
            </details>`;
          })}
      `}
    <//>
  </div>`;
}

/** Every commit that changed the entity, or one property of it. @param {{path: string, property: string}} props */
function Steps({ path, property }) {
  const found = useLoaded(() => call(`${path}/history`, { query: target() }), [path, ...moment()]);
  return html`<${Show} of=${found}>
    ${(/** @type {any} */ value) => {
      const steps = value.commits
        .map((/** @type {any} */ step) => ({ ...step, changes: step.changes.filter((/** @type {any} */ item) => !property || item.property === property) }))
        .filter((/** @type {any} */ step) => step.changes.length);
      return html`<ol class="timeline">
          ${steps.map(
            (/** @type {any} */ step) => html`<li>
              <div class="line tiny"><a href=${link("history", { commit: step.cause.graph_commit_id })}>${step.cause.message || (step.op === "insert" ? "inserted" : "updated")}</a> <span class="quiet">${step.cause.actor_id ?? "no actor"} · <${When} micros=${step.cause.authored_at} /></span></div>
              ${step.op === "insert" && !property
                ? html`<span class="plus tiny">+ inserted with ${count(step.changes.length)} values</span>`
                : step.changes.map((/** @type {any} */ item) => html`<div class="tiny"><span class="quiet">${item.property}</span> ${step.op === "insert" ? "" : html`<del><${Value} value=${item.before} /></del> → `}<ins><${Value} value=${item.after} /></ins></div>`)}
            </li>`,
          )}
        </ol>
        ${!value.complete && html`<p class="quiet tiny">Older commits were not read.</p>`}`;
    }}
  <//>`;
}

/** @param {{entity: any, history: string, onHistory: (name: string) => void}} props */
function Properties({ entity, history, onHistory }) {
  return html`<table class="grid plain-rows">
    <thead><tr><th scope="col">Property</th><th scope="col">Value</th><th scope="col">Set by</th></tr></thead>
    <tbody>
      ${Object.entries(entity.properties).map(([name, value]) => {
        const set = entity.history?.properties[name];
        return html`<tr>
          <td><button class="plain small" aria-pressed=${String(history === name)} title=${`History of ${name}`} onClick=${() => onHistory(history === name ? "" : name)}>${name}</button></td>
          <td class="wrap"><${Value} value=${value} /></td>
          <td class="tiny">${set
            ? html`<a href=${link("history", { commit: set.graph_commit_id })} title=${set.message ?? set.graph_commit_id}>${set.actor_id ?? `@${short(set.graph_commit_id)}`}</a> <span class="quiet"><${When} micros=${set.authored_at} /></span>`
            : "–"}</td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}

/** @param {{catalog: any, type: any, id: string}} props */
export function Entity({ catalog, type, id }) {
  const path = `entities/${type.kind}/${encodeURIComponent(type.name)}/${encodeURIComponent(id)}`;
  const found = useLoaded(() => call(path, { query: { history: true, ...target() } }), [path, ...moment()]);
  const [isEditing, setEditing] = useState(false);
  const history = route.value.params.history ?? "";
  if (found.error?.status === 404) {
    return html`<section class="card stack" aria-label="Entity"><div class="line spread"><h1>${id}</h1><button class="plain icon" aria-label="Close the entity" onClick=${() => setParams({ id: "", draw: "", history: "" })}>✕</button></div><${Problem} error=${found.error} /></section>`;
  }
  return html`<section class="card stack" aria-label="Entity">
    <${Show} of=${found}>
      ${(/** @type {any} */ entity) => html`
        <div class="line spread">
          <div><span class="quiet tiny">${type.name}</span><h1>${id}</h1></div>
          <span class="line"><button class="small" onClick=${() => setEditing(true)}>Edit on a branch</button><button class="plain icon" aria-label="Close the entity" onClick=${() => setParams({ id: "", draw: "", history: "" })}>✕</button></span>
        </div>
        ${entity.source && html`<p><a href=${link("browse", entity.source)}>${entity.source.id}</a> → <a href=${link("browse", entity.target)}>${entity.target.id}</a></p>`}
        <${Properties} entity=${entity} history=${history} onHistory=${(/** @type {string} */ name) => setParams({ history: name })} />
        ${entity.history && !entity.history.complete && html`<p class="quiet tiny">Who set the other values lies further back.</p>`}
        <details open=${Boolean(history)} key=${history}>
          <summary>History${history && history !== "all" ? ` of ${history}` : ""}</summary>
          <div class="stack tight"><${Steps} path=${path} property=${history === "all" ? "" : history} /></div>
        </details>
        ${type.kind === "node" && html`<${Neighbours} catalog=${catalog} type=${type.name} id=${id} />`}
        ${isEditing && html`<${EditDialog} type=${type} entity=${entity} actor=${session.value?.actor_id ?? "me"} onClose=${() => setEditing(false)} />`}
      `}
    <//>
  </section>`;
}
