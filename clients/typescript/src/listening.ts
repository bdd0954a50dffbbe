/** One exchange with the server, given up when it is silent for too long: streamed both ways. */

import { setImmediate as nextTurn } from "node:timers/promises";

import { readProblem, ServerUnreachable } from "./errors.js";

/** A request as it goes over the wire; a body that comes in pieces is sent as it comes. */
export interface Request {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | AsyncIterable<Uint8Array> | undefined;
}

/** Time runs only while the server is waited for: a slow source of pages, or a slow reader, is not its fault. */
export class Listening {
  private readonly controller = new AbortController();
  private readonly leave = () => this.controller.abort(this.signal?.reason);
  private timer: NodeJS.Timeout | undefined;
  private isSilent = false;
  private isOver = false;
  private sourceFault: { error: unknown } | undefined;

  constructor(
    private readonly seconds: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    if (signal?.aborted) this.leave();
    signal?.addEventListener("abort", this.leave);
  }

  /** The answer's body, piece by piece; throws ApiError where the answer is a problem. */
  async *answer(request: Request): AsyncGenerator<Uint8Array> {
    try {
      const answer = await this.waited(fetch(request.url, this.written(request)));
      if (!answer.ok) throw readProblem(answer.status, answer.headers, await this.waited(answer.text()));
      const reader = answer.body?.getReader();
      while (reader !== undefined) {
        const { done, value } = await this.waited(reader.read());
        if (done) return;
        yield value as Uint8Array;
      }
    } finally {
      this.stop();
      this.isOver = true;
      this.signal?.removeEventListener("abort", this.leave);
      this.controller.abort(); // whoever leaves in the middle hangs up
    }
  }

  private written({ method, headers, body }: Request): RequestInit {
    const base = { method, headers, signal: this.controller.signal, redirect: "manual" } as const;
    if (body === undefined) return base;
    return typeof body === "string" ? { ...base, body } : { ...base, body: this.watched(body), duplex: "half" };
  }

  private async *watched(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      this.stop();
      for await (const piece of pieces) {
        this.start();
        yield piece;
        await nextTurn(); // a source that never waits would keep us from hearing an early answer
        this.stop();
      }
    } catch (error) {
      this.sourceFault = { error };
      throw error;
    }
    this.start();
  }

  private async waited<T>(coming: Promise<T>): Promise<T> {
    this.start();
    try {
      return await coming;
    } catch (error) {
      this.signal?.throwIfAborted();
      if (this.sourceFault !== undefined) throw this.sourceFault.error;
      const why = this.isSilent ? `nothing came from it for ${this.seconds} s` : reasonOf(error);
      throw new ServerUnreachable(`the server cannot be heard: ${why}`, { cause: error });
    } finally {
      this.stop();
    }
  }

  private start(): void {
    this.stop();
    if (this.isOver) return; // the source may give one page more
    this.timer = setTimeout(() => {
      this.isSilent = true;
      this.controller.abort();
    }, this.seconds * 1000);
  }

  private stop(): void {
    clearTimeout(this.timer);
  }
}

/** What `fetch` knows is in its error's cause. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
}
