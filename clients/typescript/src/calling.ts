/** One call to the API: sent, tried again where that can do no harm, and read as what it is. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { ApiError, ServerUnreachable } from "./errors.js";
import { Listening } from "./listening.js";
import { VERSION } from "./version.js";

export const NDJSON = "application/x-ndjson";
const JSON_TYPE = "application/json";
const PASSING = new Set([429, 502, 503, 504]);
const FIRST_REST = 0.25;
const LONGEST_REST = 10;
const LOOK_AGAIN = 0.5;

/** How long a silent server is waited for, how often it is asked, and which `Retry-After` is still waited for. */
export interface Patience {
  /** Seconds in which nothing comes; 60. */
  timeout: number;
  /** Tries in all; 4. */
  attempts: number;
  /** Seconds; 60. */
  longestRest: number;
}

/** What is asked of the API. A body is JSON, or pieces of lines that can perhaps be had only once. */
export interface Call {
  method: "GET" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: object;
  pieces?: () => AsyncIterable<Uint8Array>;
  isRepeatable?: boolean;
  accept?: string;
  /** Seconds that the server itself will take, at most. */
  takes?: number;
}

/** Makes calls to one server, in the name of a key. */
export class Caller {
  constructor(
    private readonly base: string,
    private readonly key: string | undefined,
    private readonly patience: Patience,
    private readonly signal?: AbortSignal,
  ) {}

  /** The answer; throws ApiError for a problem, and ServerUnreachable if there is no answer. */
  async ask<T>(call: Call): Promise<T> {
    return asAnswer<T>(Buffer.from(await this.fetch(call)).toString());
  }

  /** The same, as the bytes that came. */
  async fetch(call: Call): Promise<Uint8Array> {
    const headers = this.headersOf(call);
    const timeout = this.timeoutOf(call);
    let [tried, waited] = [0, 0];
    for (;;) {
      try {
        return await whole(this.stream(call, headers));
      } catch (error) {
        if (isUnderWay(error) && waited < timeout) {
          waited += LOOK_AGAIN;
          await this.sleep(LOOK_AGAIN);
        } else {
          tried += 1;
          await this.rest(error, tried, call.isRepeatable ?? true);
        }
      }
    }
  }

  /** The answer's body as it comes. It is asked for once: where it breaks off, the caller knows how to go on. */
  stream(call: Call, headers = this.headersOf(call)): AsyncGenerator<Uint8Array> {
    const body = call.pieces?.() ?? (call.body && JSON.stringify(call.body));
    const listening = new Listening(this.timeoutOf(call), this.signal);
    return listening.answer({ url: this.base + targetOf(call), method: call.method, headers, body });
  }

  /** Wait before the call is made once more, or throw its error where that would be of no use. */
  async rest(error: unknown, tried: number, isRepeatable = true): Promise<void> {
    const named = error instanceof ApiError ? error.retryAfter : null;
    const rest = named ?? Math.min(FIRST_REST * 2 ** (tried - 1), LONGEST_REST);
    const isOver = tried >= this.patience.attempts || rest > this.patience.longestRest;
    if (!isPassing(error) || !isRepeatable || isOver) throw error;
    await this.sleep(rest);
  }

  async sleep(seconds: number): Promise<void> {
    const { signal } = this;
    await sleep(seconds * 1000, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }

  private timeoutOf(call: Call): number {
    return this.patience.timeout + (call.takes ?? 0);
  }

  private headersOf(call: Call): Record<string, string> {
    const headers: Record<string, string> = {
      Accept: call.accept ?? JSON_TYPE,
      "User-Agent": `emissary-client-typescript/${VERSION}`,
    };
    if (this.key !== undefined) headers["Authorization"] = `Bearer ${this.key}`;
    // The same over all tries: whatever came of the first is the answer to the others.
    if (call.method === "POST") headers["Idempotency-Key"] = randomUUID();
    if (call.pieces !== undefined) headers["Content-Type"] = NDJSON;
    else if (call.body !== undefined) headers["Content-Type"] = JSON_TYPE;
    return headers;
  }
}

/** Whether it is our own first try that is in the way: its connection was cut, and it is still being answered. */
function isUnderWay(error: unknown): boolean {
  return error instanceof ApiError && error.code === "idempotency_in_flight";
}

function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.has(error.status);
  return error instanceof ServerUnreachable;
}

function asAnswer<T>(text: string): T {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === "object" && found !== null) return found as T;
  } catch {
    // told below, as is JSON that is no object
  }
  const shown = JSON.stringify(text.slice(0, 80));
  const detail = `the server's answer is not what was expected (${shown}): is it an Emissary of this version?`;
  throw new ServerUnreachable(detail);
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

function targetOf(call: Call): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.toString() === "" ? call.path : `${call.path}?${query}`;
}
