/** Pages as lines of a body, and lines of an answer, some at a time: a million take no more memory than one piece. */

import { BadRequest } from "./errors.js";

/** A page of a batch: its URL, an object with `metadata` of yours, or a whole line as bytes. */
export type Page = string | URL | { url: string; metadata?: Record<string, unknown> } | Uint8Array;

/** Pages of a batch. Those of an array or a set can be sent a second time; others are gone once they were sent. */
export type Pages = Iterable<Page> | AsyncIterable<Page>;

const ENOUGH = 64 * 1024;
const NEWLINE = 10;
const encoder = new TextEncoder();

/** Whether they are still there once they were sent: a generator's are gone. */
export function canBeHadAgain(pages: Pages): boolean {
  return Array.isArray(pages) || pages instanceof Set;
}

/** The options, and behind them the pages, as pieces of a body. */
export async function* asPieces(options: object, pages: Pages): AsyncGenerator<Uint8Array> {
  let waiting = [encoder.encode(JSON.stringify(options))];
  let size = 0;
  for await (const page of pages) {
    const line = lineOf(page);
    waiting.push(line);
    size += line.length;
    if (size > ENOUGH) {
      yield joined(waiting);
      [waiting, size] = [[], 0];
    }
  }
  if (waiting.length > 0) yield joined(waiting);
}

/** The lines of a file or another stream of bytes, the last one with or without its end; for `batch`. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const rest = yield* wholeLines(pieces);
  if (rest.length > 0) yield rest;
}

/** The lines that came whole; what is behind the last of them is returned. */
export async function* wholeLines(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, Uint8Array, undefined> {
  let begun: Uint8Array[] = [];
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, piece.subarray(start, end)]);
      [begun, start] = [[], end + 1];
    }
    if (start < piece.length) begun.push(piece.subarray(start));
  }
  return Buffer.concat(begun);
}

/** That it is a list, and not one URL, whose letters would be taken for pages. */
export function checkPages(pages: Pages): void {
  if (typeof pages === "string" || pages instanceof Uint8Array) {
    throw new BadRequest("a batch is a list of URLs: give [url], or linesOf(createReadStream(file)) for a file of them");
  }
}

function lineOf(page: Page): Uint8Array {
  if (page instanceof Uint8Array) return page;
  const isUrl = typeof page === "string" || page instanceof URL;
  return encoder.encode(JSON.stringify(isUrl ? { url: String(page) } : page));
}

function joined(lines: Uint8Array[]): Uint8Array {
  return Buffer.concat(lines.flatMap((line) => [line, Uint8Array.of(NEWLINE)]));
}
