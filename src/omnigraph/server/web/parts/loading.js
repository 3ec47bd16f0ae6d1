/** States of what is loaded: loading, empty, error, denied, offline, ready. */
import { html, useEffect, useState } from "../vendor/core.js";
import { revision } from "../state.js";

/** @typedef {{value?: any, error?: any, isLoading: boolean}} Loaded */

/** Load something again whenever an input changes. @type {(load: () => Promise<any>, inputs: any[]) => Loaded} */
export function useLoaded(load, inputs) {
  const [state, setState] = useState(/** @type {Loaded} */ ({ isLoading: true }));
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, isLoading: true }));
    load().then(
      (value) => isCurrent && setState({ value, isLoading: false }),
      (error) => isCurrent && setState({ error, isLoading: false }),
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, revision.value]);
  return state;
}

/** @param {{error: any, what?: string}} props */
export function Problem({ error, what = "That did not work" }) {
  if (error.status === 403) {
    return html`<div class="state denied" role="alert">
      <strong>Not allowed</strong>
      <p>${error.message}</p>
      <p class="quiet tiny">The policy of this graph decides. Ask its owner for the action that is named.</p>
    </div>`;
  }
  if (error.status === 0) {
    return html`<div class="state" role="alert"><strong>Offline</strong><p>${error.message} What you entered is kept.</p></div>`;
  }
  const isPlain = !error.message.includes("\n");
  return html`<div class="state error" role="alert">
    <strong>${error.status === 404 ? "Not found" : what}</strong>
    ${isPlain ? html`<p>${error.message}</p>` : html`<pre>${error.message}</pre>`}
    ${error.hint && html`<p class="quiet">${error.hint}</p>`}
  </div>`;
}

/** @param {{of: Loaded, children: any, lines?: number}} props */
export function Show({ of, children, lines = 4 }) {
  if (of.error) return html`<${Problem} error=${of.error} />`;
  if (of.value === undefined) {
    return html`<div class="skeletons" role="status" aria-label="Loading">${Array.from({ length: lines }, (_, i) => html`<div class="skeleton" style=${{ width: `${[100, 86, 94, 70][i % 4]}%` }}></div>`)}</div>`;
  }
  return children(of.value);
}

/** @param {{title?: string, children?: any}} props */
export const Empty = ({ title, children }) => html`<div class="state">${title && html`<strong>${title}</strong>`}<div>${children}</div></div>`;

/** Work that a person started: a value, an error, and whether it runs. @type {() => {error: any, isRunning: boolean, run: (work: () => Promise<any>) => Promise<any>}} */
export function useWork() {
  const [state, setState] = useState({ error: /** @type {any} */ (null), isRunning: false });
  async function run(/** @type {() => Promise<any>} */ work) {
    setState({ error: null, isRunning: true });
    try {
      const value = await work();
      setState({ error: null, isRunning: false });
      return value;
    } catch (error) {
      setState({ error, isRunning: false });
      return undefined;
    }
  }
  return { ...state, run };
}
