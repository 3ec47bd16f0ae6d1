/** Jobs and health: jobs of the graph with their progress, readiness of the server, and maintenance. */
import { html, useEffect, useState } from "../vendor/core.js";
import { call, request, writeKey } from "../api.js";
import { Empty, Problem, Show, useLoaded } from "../parts/loading.js";
import { count, When } from "../parts/values.js";
import { revision, route } from "../state.js";

const AGAIN_MS = 1000;
const WORK = {
  verify: ["Verify", { deep: false }, "Check that no file of the history is missing."],
  optimize: ["Optimize", {}, "Compact small files and bring indexes up to date."],
  cleanup: ["Preview cleanup", { dry_run: true }, "List the files that nothing refers to. Nothing is deleted."],
};
const SIGNS = { waiting: "…", running: "▶", succeeded: "✓", failed: "✗" };
const CLASSES = { succeeded: "plus", failed: "minus" };

/** Jobs of everyone where that is allowed, else those of the caller. */
const jobsOf = () => call("jobs", { query: { all: true } }).catch((error) => (error.status === 403 ? call("jobs") : Promise.reject(error)));

/** @param {{job: any}} props */
function Job({ job }) {
  return html`<li>
    <span><strong class=${CLASSES[job.state] ?? ""}>${SIGNS[job.state]}</strong> ${job.kind} <span class="quiet">${job.state}</span></span>
    <span>${count(job.progress.done)} ${job.progress.unit}</span>
    ${job.error && html`<span class="minus">${job.error.error}</span>`}
    ${job.result && html`<details><summary>Result</summary><pre>${JSON.stringify(job.result, null, 2)}</pre></details>`}
    <span class="quiet">${job.actor_id ?? "–"} · <${When} micros=${job.created_at} /></span>
  </li>`;
}

/** Readiness, with the reasons against it. */
const health = () => request("readyz").then((value) => ({ isReady: true, value }), (error) => (error.status === 503 ? { isReady: false, value: error.body } : Promise.reject(error)));

export default function Jobs() {
  const { graph } = route.value;
  const jobs = useLoaded(jobsOf, [graph]);
  const ready = useLoaded(health, [graph]);
  const about = useLoaded(() => request("healthz"), [graph]);
  const [error, setError] = useState(null);
  const isBusy = jobs.value?.jobs.some((job) => job.state === "waiting" || job.state === "running");
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setTimeout(() => (revision.value += 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [jobs.value]);
  async function start(name) {
    setError(null);
    try {
      await call(`maintenance/${name}`, { body: WORK[name][1], headers: writeKey() });
      revision.value += 1;
    } catch (problem) {
      setError(problem);
    }
  }
  return html`<h1>Jobs and health</h1>
    <div class="columns">
      <section class="card" aria-label="Jobs">
        <h2>Jobs</h2>
        <${Show} of=${jobs}>
          ${(found) => (found.jobs.length === 0 ? html`<${Empty}>No job has run since the server was started.<//>` : html`<ul class="rows">${found.jobs.map((job) => html`<${Job} key=${job.id} job=${job} />`)}</ul>`)}
        <//>
      </section>
      <div class="stack">
        <section class="card" aria-label="Health">
          <h2>Health</h2>
          <${Show} of=${ready}>
            ${(found) => html`<p><strong class=${found.isReady ? "plus" : "minus"}>${found.isReady ? "● ready" : "▲ not ready"}</strong> ${found.isReady ? "" : JSON.stringify(found.value)}</p>`}
          <//>
          <dl class="facts">${Object.entries(about.value ?? {}).map(([name, value]) => html`<dt>${name}</dt><dd>${String(value)}</dd>`)}</dl>
        </section>
        <section class="card" aria-label="Maintenance">
          <h2>Maintenance</h2>
          <ul class="rows">
            ${Object.entries(WORK).map(([name, [title, , what]]) => html`<li><span class="quiet">${what}</span><button onClick=${() => start(name)}>${title}</button></li>`)}
          </ul>
          ${error && html`<${Problem} error=${error} />`}
        </section>
      </div>
    </div>`;
}
