/** A server that answers what it was told to, hangs up, and remembers what it was asked. */

import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

/** One request as it came. */
export interface Asked {
  line: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** How one request is answered. */
export type Reply = (response: ServerResponse) => void;

/** A whole answer in JSON. */
export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => response.writeHead(status, headers).end(JSON.stringify(body));
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): Reply {
  return answer(status, { code, detail: `this is ${code}`, status }, headers);
}

/** Nothing, and the line goes dead. */
export const hangUp: Reply = (response) => response.destroy();

/** Lines, and the line goes dead once they are out, or stays open in silence, or ends well. */
export function lines(pieces: string[], then: "dead" | "silent" | "end"): Reply {
  return (response) => {
    response.writeHead(200);
    response.write(pieces.join(""), () => {
      if (then === "dead") response.destroy();
      if (then === "end") response.end();
    });
  };
}

/** Runs `use` with the URL of a server that follows the script; whoever asks beyond it is hung up on. */
export async function scripted(script: Reply[], use: (url: string, asked: Asked[]) => Promise<void>): Promise<void> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces).toString();
      asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      (script.shift() ?? hangUp)(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
