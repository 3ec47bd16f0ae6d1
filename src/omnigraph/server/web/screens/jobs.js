/** Health: jobs of the graph with their progress, findings with advice, maintenance, latencies, graphs not served. */
import { html, useEffect } from "../vendor/core.js";
import { call, request, writeKey } from "../api.js";
import { Empty, Problem, Show, useLoaded, useWork } from "../parts/loading.js";
import { count, counted, When } from "../parts/values.js";
import { revision, route, session, shownCommit } from "../state.js";

const AGAIN_MS = 1000;
const ROUTES_SHOWN = 12;
const WORK = /** @type {Record<string, [string, any, string]>} */ ({
  verify: ["Verify", { deep: false }, "Check that no file of the history is missing."],
  optimize: ["Optimize", {}, "Compact small files and bring indexes up to date."],
  cleanup: ["Preview cleanup", { dry_run: true }, "List the files that nothing refers to. Nothing is deleted."],
});
const SIGNS = /** @type {Record<string, [string, string]>} */ ({ waiting: ["…", ""], running: ["▶", "tilde"], succeeded: ["✓", "plus"], failed: ["✗", "minus"] });
const VERDICTS = /** @type {Record<string, [string, string]>} */ ({ ok: ["●", "plus"], advice: ["▲", "tilde"], problem: ["✗", "minus"] });

/** Jobs of everyone where that is allowed, else those of the caller. */
const jobsOf = () => call("jobs", { query: { all: true } }).catch((error) => (error.status === 403 ? call("jobs") : Promise.reject(error)));

/** Members of a result in plain words: numbers and short texts, lists by their length. @type {(result: any) => [string, string][]} */
function factsOf(result) {
  return Object.entries(result).flatMap(([name, value]) => {
    const label = name.replaceAll("_", " ");
    if (typeof value === "number") return [/** @type {[string, string]} */ ([label, count(value)])];
    if (typeof value === "string" || typeof value === "boolean") return [/** @type {[string, string]} */ ([label, String(value)])];
    return Array.isArray(value) ? [/** @type {[string, string]} */ ([label, count(value.length)])] : [];
  });
}

/** @param {{job: any}} props */
function Job({ job }) {
  const [sign, colour] = SIGNS[job.state] ?? ["", ""];
  const seconds = job.finished_at && job.started_at ? (Number(job.finished_at) - Number(job.started_at)) / 1e6 : null;
  return html`<li>
    <span><strong class=${colour}>${sign}</strong> <strong>${job.kind}</strong> <span class="quiet">${job.state}</span></span>
    <span class="tiny">${counted(job.progress.done, job.progress.unit.replace(/s$/, ""))}${seconds === null ? "" : ` in ${seconds.toFixed(1)} s`}</span>
    ${job.state === "running" && html`<span class="progress"><i></i></span>`}
    <span class="quiet tiny">${job.actor_id ?? "–"} · <${When} micros=${job.created_at} /></span>
    ${job.error && html`<div class="minus">${job.error.error}</div>`}
    ${job.result &&
    html`<details>
      <summary class="tiny">Result</summary>
      <dl class="facts tiny">${factsOf(job.result).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      <details><summary class="tiny quiet">as JSON</summary><pre tabindex="0">${JSON.stringify(job.result, null, 2)}</pre></details>
    </details>`}
  </li>`;
}

/** Findings of doctor; the good ones are folded away. */
function Findings() {
  const { graph, params } = route.value;
  const found = useLoaded(() => call("maintenance/doctor", { query: { branch: params.ref || "main" } }), [graph, params.ref]);
  return html`<section class="card" aria-label="Findings">
    <header><h2>Findings</h2><span class="quiet tiny">about ${params.ref || "main"} and its store</span></header>
    <${Show} of=${found}>
      ${(/** @type {any} */ value) => {
        const bad = value.findings.filter((/** @type {any} */ item) => item.verdict !== "ok");
        const good = value.findings.filter((/** @type {any} */ item) => item.verdict === "ok");
        const row = (/** @type {any} */ item) => html`<li><span><strong class=${VERDICTS[item.verdict][1]} title=${item.verdict}>${VERDICTS[item.verdict][0]}</strong> ${item.check}: ${item.found}</span>${item.advice ? html`<span class="tiny">${item.advice}</span>` : ""}</li>`;
        return html`${bad.length === 0 && html`<p><strong class="plus">● ${counted(good.length, "check")} passed,</strong> nothing to remark.</p>`}
          <ul class="rows">${bad.map(row)}</ul>
          <details><summary class="quiet tiny">${counted(good.length, "check")} without remarks</summary><ul class="rows">${good.map(row)}</ul></details>`;
      }}
    <//>
  </section>`;
}

/** @param {{status: any}} props */
function Latencies({ status }) {
  const shown = status.latencies.slice(0, ROUTES_SHOWN);
  return html`<section class="card" aria-label="Latencies">
    <header><h2>Latencies of the last hour</h2><span class="quiet tiny">milliseconds until an answer was sent</span></header>
    ${shown.length === 0
      ? html`<${Empty}>No request yet.<//>`
      : html`<div class="scroll bare" tabindex="0" role="region" aria-label="Latencies by route"><table class="grid plain-rows">
          <thead><tr><th scope="col">Route</th><th scope="col" class="number">Requests</th><th scope="col" class="number">p50</th><th scope="col" class="number">p95</th><th scope="col" class="number">p99</th><th scope="col" class="number">Errors</th></tr></thead>
          <tbody>
            ${shown.map((/** @type {any} */ item) => html`<tr><td class="mono wrap">${item.route.replace("/graphs/{graph_id}", "…")}</td><td class="number">${count(item.count)}</td><td class="number">${item.p50_ms}</td><td class="number">${item.p95_ms}</td><td class="number">${item.p99_ms}</td><td class=${`number ${item.errors ? "minus" : ""}`}>${count(item.errors)}</td></tr>`)}
          </tbody>
        </table></div>`}
  </section>`;
}

/** @param {{status: any}} props */
function Server({ status }) {
  const isReady = status.status === "ready";
  return html`<section class="card" aria-label="Health">
    <header><h2>Server</h2><span class="quiet tiny">version ${status.version}</span></header>
    <p><strong class=${isReady ? "plus" : "minus"}>${isReady ? "● ready" : "▲ not ready"}</strong> ${(status.reasons ?? []).join("; ")}</p>
    ${status.quarantined.length > 0 && html`<h3>Graphs that are not served</h3><ul class="rows">${status.quarantined.map((/** @type {any} */ item) => html`<li><strong class="minus">✗ ${item.graph_id}</strong><span>${item.reason}</span></li>`)}</ul>`}
  </section>`;
}

/** Status for those who may list graphs; readiness for everyone. */
async function statusOf() {
  if (session.value?.may_list) return request("status");
  const [health, ready] = await Promise.all([request("healthz"), request("readyz").catch((problem) => problem.body)]);
  return { ...ready, version: health.version, latencies: [], quarantined: [], isPartial: true };
}

export default function Jobs() {
  const { graph } = route.value;
  const jobs = useLoaded(jobsOf, [graph]);
  const status = useLoaded(statusOf, [graph]);
  const work = useWork();
  const isBusy = jobs.value?.jobs.some((/** @type {any} */ job) => job.state === "waiting" || job.state === "running");
  useEffect(() => {
    shownCommit.value = "";
  }, []);
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setTimeout(() => (revision.value += 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [jobs.value]);
  const start = (/** @type {string} */ name) =>
    work.run(async () => {
      await call(`maintenance/${name}`, { body: WORK[name][1], headers: writeKey() });
      revision.value += 1;
    });
  return html`<div class="title-line"><h1>Jobs and health</h1></div>
    <div class="columns even">
      <div class="stack">
        <section class="card" aria-label="Jobs">
          <header><h2>Jobs</h2><span class="quiet tiny">running and recent</span></header>
          <${Show} of=${jobs}>
            ${(/** @type {any} */ found) => (found.jobs.length === 0 ? html`<${Empty} title="No job has run yet">Loads of large files and maintenance appear here, with their progress.<//>` : html`<ul class="rows">${found.jobs.map((/** @type {any} */ job) => html`<${Job} key=${job.id} job=${job} />`)}</ul>`)}
          <//>
        </section>
        <section class="card" aria-label="Maintenance">
          <header><h2>Maintenance</h2></header>
          <ul class="rows">
            ${Object.entries(WORK).map(([name, [title, , what]]) => html`<li><span class="quiet">${what}</span><button disabled=${work.isRunning} onClick=${() => start(name)}>${title}</button></li>`)}
          </ul>
          ${work.error && html`<${Problem} error=${work.error} />`}
        </section>
      </div>
      <div class="stack">
        <${Show} of=${status}>${(/** @type {any} */ found) => html`<${Server} status=${found} />${!found.isPartial && html`<${Latencies} status=${found} />`}`}<//>
        <${Findings} />
      </div>
    </div>`;
}
