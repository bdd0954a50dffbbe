/** What can go wrong between the client and its server. */

const LONGEST_SHOWN = 200;

/** One fault of a request, with a JSON pointer to its place. */
export interface FieldError {
  pointer: string;
  detail: string;
}

/** The server answered with a problem: a stable `code`, a sentence that says what to do, and the HTTP status. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly detail: string,
    readonly code: string,
    readonly status: number,
    /** Seconds, where the server has named a time. */
    readonly retryAfter: number | null = null,
    readonly errors: FieldError[] = [],
  ) {
    super(detail);
  }

  /** Whether the caller can mend it. */
  get isCallers(): boolean {
    return this.status >= 400 && this.status < 500;
  }
}

/** Nobody answered, or the answer broke off, or was none of ours. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
}

/** What was asked for cannot be sent at all. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}

/** The error in an answer. Somebody between us and the server may have sent it: then it is in no form of ours. */
export function readProblem(status: number, headers: Headers, body: string): ApiError {
  const problem = problemIn(body);
  const shown = body.slice(0, LONGEST_SHOWN).trim() || "nothing more";
  const detail = problem.detail || `the server answered with ${status}: ${shown}`;
  return new ApiError(detail, problem.code ?? "internal", status, secondsIn(headers), problem.errors ?? []);
}

function problemIn(body: string): { code?: string; detail?: string; errors?: FieldError[] } {
  try {
    const found: unknown = JSON.parse(body);
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

/** Our server names seconds; a date, which others may send, is as good as no time at all. */
function secondsIn(headers: Headers): number | null {
  const given = headers.get("retry-after") ?? "";
  return /^\d+$/.test(given) ? Number(given) : null;
}
