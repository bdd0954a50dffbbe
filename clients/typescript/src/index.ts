/** A client of Emissary: every verb of its API as typed calls. */

export * from "./answers.js";
export type { Patience } from "./calling.js";
export { Emissary } from "./client.js";
export { ApiError, BadRequest, ServerUnreachable } from "./errors.js";
export type { FieldError } from "./errors.js";
export { linesOf } from "./lines.js";
export type { Page, Pages } from "./lines.js";
export type * from "./options.js";
