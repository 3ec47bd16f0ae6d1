/** States of what is loaded: loading, error, denied, offline, ready. */
import { html, useEffect, useState } from "../vendor/core.js";
import { revision } from "../state.js";

/**
 * @template T
 * @typedef {{value?: T, error?: Error, isLoading: boolean}} Loaded
 */

/** Load something again whenever a dependency changes. @type {(load: () => Promise<any>, inputs: any[]) => any} */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ isLoading: true });
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

/** @param {{error: any}} props */
export function Problem({ error }) {
  if (error.status === 403) {
    return html`<div class="state denied" role="alert">
      <strong>Not allowed</strong>
      <p>${error.message}</p>
    </div>`;
  }
  if (error.status === 0) {
    return html`<div class="state" role="alert"><strong>Offline</strong><p>${error.message}</p></div>`;
  }
  return html`<div class="state error" role="alert">
    <strong>That did not work</strong>
    <p>${error.message}</p>
    ${error.hint && html`<p class="quiet">${error.hint}</p>`}
  </div>`;
}

/** @param {{of: any, children: (value: any) => any}} props */
export function Show({ of, children }) {
  if (of.error) return html`<${Problem} error=${of.error} />`;
  if (of.value === undefined) return html`<div class="state quiet" role="status">Loading…</div>`;
  return children(of.value);
}

/** @param {{children: any}} props */
export const Empty = ({ children }) => html`<div class="state quiet">${children}</div>`;
