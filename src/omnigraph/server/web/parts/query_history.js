/** Queries that were run in this browser, by graph; the newest first. Nothing of it leaves the browser. */
const KEY = "omnigraph-queries";
const KEPT = 30;
const CHARS_MAX = 20_000;

/** @typedef {{text: string, params: string, rows: number, ms: number, at: number}} Run */

/** @type {() => Record<string, Run[]>} */
function all() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @type {(graph: string) => Run[]} */
export const runsOf = (graph) => all()[graph] ?? [];

/** Remember a run; an earlier one of the same text is replaced. @type {(graph: string, run: Run) => void} */
export function remember(graph, run) {
  if (run.text.length > CHARS_MAX) return;
  const kept = runsOf(graph).filter((item) => item.text !== run.text || item.params !== run.params);
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...all(), [graph]: [run, ...kept].slice(0, KEPT) }));
  } catch {
    // No room, or no right to keep anything: the history is a convenience.
  }
}

/** @type {(graph: string) => void} */
export function forget(graph) {
  const { [graph]: _, ...others } = all();
  localStorage.setItem(KEY, JSON.stringify(others));
}
