/** The branch or commit that is shown, chosen from a list that is searched while typing. */
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { call } from "../api.js";
import { route, setParams } from "../state.js";
import { Compared, otherBranches } from "./branches.js";
import { useLoaded } from "./loading.js";
import { short, When } from "./values.js";

const BRANCHES_SHOWN = 30;
const COMMITS_SHOWN = 15;
const COMMIT_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** @typedef {{name: string, note?: any, changes: Record<string, string>}} Option */

/** @type {(text: string, branches: string[], compared: Map<string, any>, commits: any[]) => Option[]} */
function optionsOf(text, branches, compared, commits) {
  const wanted = text.trim().toLowerCase();
  const fits = (/** @type {string} */ name) => name.toLowerCase().includes(wanted);
  const named = branches.filter(fits).slice(0, BRANCHES_SHOWN);
  const found = commits.filter((commit) => fits(commit.message ?? "") || fits(commit.graph_commit_id) || fits(commit.kind)).slice(0, COMMITS_SHOWN);
  const options = [
    ...named.map((name) => ({ name, note: compared.has(name) ? html`<${Compared} branch=${compared.get(name)} />` : "branch", changes: { ref: name, at: "" } })),
    ...found.map((commit) => ({ name: `@${short(commit.graph_commit_id)} ${commit.message || commit.kind}`, note: html`<${When} micros=${commit.created_at} />`, changes: { at: commit.graph_commit_id } })),
  ];
  const id = text.trim().toUpperCase();
  return COMMIT_ID.test(id) && !options.length ? [{ name: `@${short(id)}`, note: "commit", changes: { at: id } }] : options;
}

/** @param {{branches: string[], onClose: () => void}} props */
function Chooser({ branches, onClose }) {
  const { ref = "main", at } = route.value.params;
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const input = useRef(/** @type {any} */ (null));
  const commits = useLoaded(() => call("commits", { query: { branch: ref } }).catch(() => ({ commits: [] })), [ref]);
  const others = useLoaded(() => otherBranches().catch(() => []), []);
  const compared = new Map((others.value ?? []).map((/** @type {any} */ item) => [item.name, item]));
  const options = optionsOf(text, branches, compared, commits.value?.commits ?? []);
  useEffect(() => input.current?.focus(), []);
  const choose = (/** @type {Option | undefined} */ option) => {
    if (!option) return;
    setParams(option.changes);
    onClose();
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
    if (event.key in moves) setPlace((before) => (before + moves[event.key] + options.length) % Math.max(1, options.length));
    else if (event.key === "Enter") choose(options[place]);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  return html`<div class="popover" onKeyDown=${keys}>
    <input
      ref=${input}
      role="combobox"
      aria-label="Find a branch or commit"
      aria-expanded="true"
      aria-controls="refs"
      aria-activedescendant=${options.length ? `ref-${place}` : undefined}
      placeholder="Branch, message or commit id"
      value=${text}
      onInput=${(/** @type {any} */ event) => (setText(event.target.value), setPlace(0))}
    />
    <ul id="refs" role="listbox" aria-label="Branches and commits">
      ${options.map(
        (option, i) => html`<li id=${`ref-${i}`} role="option" aria-selected=${String(i === place)} onClick=${() => choose(option)} onMouseMove=${() => setPlace(i)}>
          <span>${option.name}${(option.changes.ref === ref && !at) || option.changes.at === at ? " ✓" : ""}</span><span class="quiet tiny">${option.note}</span>
        </li>`,
      )}
    </ul>
    ${options.length === 0 && html`<p class="quiet tiny">No branch or commit matches.</p>`}
  </div>`;
}

/** @param {{branches: string[]}} props */
export function RefPicker({ branches }) {
  const [isOpen, setOpen] = useState(false);
  const host = useRef(/** @type {any} */ (null));
  const { ref = "main", at } = route.value.params;
  useEffect(() => {
    const leave = (/** @type {any} */ event) => !host.current?.contains(event.target) && setOpen(false);
    addEventListener("pointerdown", leave);
    return () => removeEventListener("pointerdown", leave);
  }, []);
  const close = () => {
    setOpen(false);
    host.current?.querySelector("button")?.focus();
  };
  const name = at ? `@${short(at)}` : ref;
  return html`<div class="picker" ref=${host}>
    <button aria-haspopup="listbox" aria-expanded=${String(isOpen)} aria-label=${`Branch or commit: ${name}`} title=${at || ref} onClick=${() => setOpen(!isOpen)}>
      <svg width="12" height="14" viewBox="0 0 12 14" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true"><circle cx="3" cy="3" r="1.8" /><circle cx="3" cy="11" r="1.8" /><circle cx="9" cy="4" r="1.8" /><path d="M3 5v4M9 6c0 2-6 1.500-6 3" /></svg>
      <span>${name}</span> ▾
    </button>
    ${isOpen && html`<${Chooser} branches=${branches} onClose=${close} />`}
  </div>`;
}
