/** Calls of the server: tokens, errors, and the state of the connection. */
import { connection, refuseToken, revision, route, token } from "./state.js";

const BASE = new URL("../", document.baseURI);
const RETRY_MS = 1500;
export const ARROW = "application/vnd.apache.arrow.stream";

/** An answer that is an error: its status, the text, and the problem of the envelope. */
export class ApiError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.error ?? `the server answered ${status}`);
    this.status = status;
    this.body = body;
    this.hint = body?.problem?.hint ?? null;
  }
}

/** Wait until the server answers again, then read everything once more. */
export async function awaitServer() {
  if (connection.value === "offline") return;
  connection.value = "offline";
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    try {
      await fetch(new URL("healthz", BASE), { cache: "no-store" });
      connection.value = "online";
      revision.value += 1;
      return;
    } catch {
      // Still gone.
    }
  }
}

/** A call: `body` is sent as JSON, `content` as it is. @typedef {{body?: any, content?: Blob, query?: Record<string, any>, headers?: Record<string, string>, method?: string}} Options */

/** @param {string} path @param {Options} options @returns {Promise<Response>} */
async function send(path, { body, content, query = {}, headers = {}, method }) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== undefined && item !== "") url.searchParams.append(name, item);
  }
  const sentToken = token.value;
  /** @type {Record<string, string>} */
  const sent = { ...headers };
  if (sentToken) sent.authorization = `Bearer ${sentToken}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(url, { method: method ?? (body === undefined && !content ? "GET" : "POST"), headers: sent, body: body === undefined ? content : JSON.stringify(body) });
  } catch {
    awaitServer();
    throw new ApiError(0, { error: "The server cannot be reached." });
  }
  if (answer.status === 401) refuseToken(sentToken);
  return answer;
}

/** The value of a text, if it is JSON; else an error with the text. @type {(text: string) => any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { error: text };
  }
}

/** @param {string} path @param {Options} [options] @returns {Promise<any>} */
export async function request(path, options = {}) {
  const answer = await send(path, options);
  const body = parsed(await answer.text());
  if (!answer.ok) throw new ApiError(answer.status, body);
  return body;
}

/** @type {(path: string) => string} */
const ofGraph = (path) => `graphs/${encodeURIComponent(route.value.graph)}/${path}`;

/** A call of the graph that is shown. @type {(path: string, options?: Options) => Promise<any>} */
export const call = (path, options) => request(ofGraph(path), options);

/** The bytes of an answer, as a file. @type {(path: string, options: Options) => Promise<Blob>} */
export async function download(path, options) {
  const answer = await send(ofGraph(path), options);
  if (!answer.ok) throw new ApiError(answer.status, parsed(await answer.text()));
  return answer.blob();
}

/** A key that makes a repeated write the same write. */
export const writeKey = () => ({ "idempotency-key": crypto.randomUUID() });
