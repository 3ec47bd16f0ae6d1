/** The graph of commits: a lane for each branch, drawn beside rows of a fixed height. */
import { html } from "../vendor/core.js";
import { COLOURS } from "../drawing/colours.js";

export const ROW = 41;
const LANE = 16;

/** Lanes of branches; main is the first. @type {(commits: any[]) => Map<string, number>} */
export function lanesOf(commits) {
  const lanes = new Map([["main", 0]]);
  for (const commit of commits) {
    const name = commit.graph_branch ?? "main";
    if (!lanes.has(name)) lanes.set(name, lanes.size);
  }
  return lanes;
}

/** @param {{commits: any[]}} props */
export function Lanes({ commits }) {
  const lanes = lanesOf(commits);
  const row = new Map(commits.map((commit, i) => [commit.graph_commit_id, i]));
  const laneOf = (/** @type {any} */ commit) => lanes.get(commit.graph_branch ?? "main") ?? 0;
  const colour = (/** @type {number} */ lane) => COLOURS[lane % COLOURS.length];
  const x = (/** @type {number} */ lane) => 10 + lane * LANE;
  const y = (/** @type {number} */ place) => place * ROW + ROW / 2;
  const lines = commits.flatMap((commit, i) =>
    [commit.parent_commit_id, commit.merged_parent_commit_id].map((id, which) => {
      if (!id) return null;
      const j = row.get(id) ?? commits.length;
      const from = laneOf(commit);
      const to = j < commits.length ? laneOf(commits[j]) : from;
      // A parent is joined at its own row; a merged branch leaves at the row of the merge.
      const bend = which === 0 ? j - 1 : i;
      const path = `M${x(from)} ${y(i)}V${y(bend)}C${x(from)} ${y(bend + 0.6)} ${x(to)} ${y(bend + 0.4)} ${x(to)} ${y(bend + 1)}V${y(j)}`;
      return html`<path stroke=${colour(which ? to : from)} d=${path} />`;
    }),
  );
  const [wide, high] = [x(lanes.size - 1) + 12, commits.length * ROW];
  return html`<svg class="lanes" width=${wide} height=${high} viewBox=${`0 0 ${wide} ${high}`} aria-hidden="true">
    ${lines}
    ${commits.map((commit, i) => html`<circle fill=${colour(laneOf(commit))} cx=${x(laneOf(commit))} cy=${y(i)} r="5.5" />`)}
  </svg>`;
}
