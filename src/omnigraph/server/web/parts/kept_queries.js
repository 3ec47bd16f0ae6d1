/** Queries of this browser, by graph: those that were run, the newest first, and those that were saved under a name. */
const RUNS = "omnigraph-queries";
const SAVED = "omnigraph-saved-queries";
const RUNS_KEPT = 30;
const CHARS_MAX = 20_000;

/** @typedef {{text: string, params: string, rows: number, ms: number, at: number}} Run */
/** @typedef {{name: string, text: string, params: string}} Saved */

/** @type {(key: string) => Record<string, any[]>} */
function all(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "{}");
  } catch {
    return {};
  }
}

/** Keep a list of a graph, or nothing of it. False if the browser has no room, or keeps nothing. @type {(key: string, graph: string, list: any[]) => boolean} */
function keep(key, graph, list) {
  const { [graph]: _, ...others } = all(key);
  try {
    localStorage.setItem(key, JSON.stringify(list.length ? { ...others, [graph]: list } : others));
    return true;
  } catch {
    return false;
  }
}

/** @type {(graph: string) => Run[]} */
export const runsOf = (graph) => all(RUNS)[graph] ?? [];

/** Remember a run; an earlier one of the same text is replaced. @type {(graph: string, run: Run) => void} */
export function remember(graph, run) {
  if (run.text.length > CHARS_MAX) return;
  const others = runsOf(graph).filter((item) => item.text !== run.text || item.params !== run.params);
  keep(RUNS, graph, [run, ...others].slice(0, RUNS_KEPT));
}

/** @type {(graph: string) => boolean} */
export const forget = (graph) => keep(RUNS, graph, []);

/** @type {(graph: string) => Saved[]} */
export const savedOf = (graph) => all(SAVED)[graph] ?? [];

/** Save a query; an earlier one of the same name is replaced. @type {(graph: string, query: Saved) => boolean} */
export const saveQuery = (graph, query) => keep(SAVED, graph, [...savedOf(graph).filter((item) => item.name !== query.name), query].sort((a, b) => a.name.localeCompare(b.name)));

/** @type {(graph: string, name: string) => boolean} */
export const deleteQuery = (graph, name) => keep(SAVED, graph, savedOf(graph).filter((item) => item.name !== name));

/** The name that a text declares. @type {(text: string) => string} */
export const declaredName = (text) => /query\s+(\w+)/.exec(text)?.[1] ?? "query";
