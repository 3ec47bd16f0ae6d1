/** Branches of the graph, each with the numbers of commits that it is ahead of main and behind it. */
import { html } from "../vendor/core.js";
import { call } from "../api.js";
import { counted } from "./values.js";

export const MAIN = "main";

/** @typedef {{name: string, parent_commit?: string | null, ahead?: number, behind?: number}} Branch */

/** The branches beside main, compared with it. @type {() => Promise<Branch[]>} */
export const otherBranches = async () => (await call("branches", { query: { against: MAIN } })).details.filter((/** @type {Branch} */ item) => item.name !== MAIN);

/** @type {(branch: Branch) => string} */
function comparison({ ahead = 0, behind = 0 }) {
  if (ahead + behind === 0) return "even with main";
  return [ahead > 0 && `ahead ${ahead}`, behind > 0 && `behind ${behind}`].filter(Boolean).join(", ");
}

/** @param {{branch: Branch}} props */
export const Compared = ({ branch }) => html`<span class="quiet tiny" title=${`${counted(branch.ahead ?? 0, "commit")} that main lacks; ${counted(branch.behind ?? 0, "commit")} of main that this branch lacks`}>${comparison(branch)}</span>`;
