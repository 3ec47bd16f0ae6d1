/** Calls of the server: tokens, errors, and the state of the connection. */
import { connection, refuseToken, revision, route, token } from "./state.js";

const BASE = new URL("../", document.baseURI);
const RETRY_MS = 1500;

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
async function awaitServer() {
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

/**
 * @param {string} path
 * @param {{body?: any, query?: Record<string, any>, headers?: Record<string, string>}} [options]
 * @returns {Promise<any>}
 */
export async function request(path, { body, query = {}, headers = {} } = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  const sent = { ...headers };
  const sentToken = token.value;
  if (sentToken) sent.authorization = `Bearer ${sentToken}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    awaitServer();
    throw new ApiError(0, { error: "The server cannot be reached." });
  }
  if (answer.status === 401) refuseToken(sentToken);
  const text = await answer.text();
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = { error: text };
  }
  if (!answer.ok) throw new ApiError(answer.status, parsed);
  return parsed;
}

/** A call of the graph that is shown. @type {(path: string, options?: object) => Promise<any>} */
export function call(path, options) {
  return request(`graphs/${encodeURIComponent(route.value.graph)}/${path}`, options);
}

/** A key that makes a repeated write the same write. */
export const writeKey = () => ({ "idempotency-key": crypto.randomUUID() });
