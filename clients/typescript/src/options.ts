/** What may be asked for beside a URL, by the names of the API. */

export type Priority = "low" | "normal" | "high";
export type Sitemap = "include" | "skip" | "only";
export type Format =
  | "rawHtml"
  | "html"
  | "markdown"
  | "text"
  | "links"
  | "images"
  | "metadata"
  | "structured"
  | "fields";

/** Who is told when a job ends, and of what; of everything, where no events are named. */
export interface Webhook {
  url: string;
  secret: string;
  events?: string[];
}

/** What is wanted of a page, whichever it is. */
export interface PageOptions {
  formats?: Format[];
  /** A field schema: docs/fields.md. */
  fields?: Record<string, unknown>;
  engine?: "auto" | "http" | "browser";
  onlyMainContent?: boolean;
  /** Seconds. */
  maxAge?: number;
  session?: string;
  timeoutMs?: number;
  /** A webhook of yours by its id, or a receiver. */
  webhook?: string | Webhook;
  priority?: Priority;
}

/** What is wanted of one page. */
export interface ScrapeOptions extends PageOptions {
  metadata?: Record<string, unknown>;
}

/** What is wanted of every page of a batch. */
export interface BatchOptions extends PageOptions {
  name?: string;
  dedupe?: "none" | "batch" | "cache";
  excludeRecentErrors?: boolean;
}

/** How far a crawl goes, and what is wanted of its pages. */
export interface CrawlOptions extends PageOptions {
  name?: string;
  /** Regular expressions, looked for anywhere in path and query. */
  includePaths?: string[];
  excludePaths?: string[];
  maxDepth?: number;
  limit?: number;
  allowSubdomains?: boolean;
  sitemap?: Sitemap;
}

/** Which jobs are listed; the host with its port, where that is not the usual one. */
export interface JobsOptions {
  status?: string;
  batch?: string;
  host?: string;
}

/** Which pages of a site are listed. */
export interface MapOptions {
  search?: string;
  limit?: number;
  sitemap?: Sitemap;
  includeSubdomains?: boolean;
  timeoutMs?: number;
}

/** Pages to plan for, or a crawl from one page on. */
export type PlanRequest = ({ urls: string[] } | { url: string; limit?: number }) & { timeoutMs?: number };

/** Which days, as in 2030-01-31, both included (this month, where nothing is said), and what is added up. */
export interface UsageOptions {
  from?: string;
  to?: string;
  by?: "day" | "kind" | "host";
}

/** What a key may do (read and write, where nothing is said), and until when; for ever, where no time is named. */
export interface KeyOptions {
  scopes?: string[];
  /** As in 2030-01-31T00:00:00Z. */
  expiresAt?: string;
}

/** How long the key before still opens; a day, where nothing is said. */
export interface RotateOptions {
  graceSeconds?: number;
}

/** Of what a webhook is told, and how; where no events are named, of what refers to it. */
export interface WebhookOptions {
  events?: string[];
  secret?: string;
  description?: string;
  active?: boolean;
}

/** One delivery, or all that died since a time, as in 2030-01-31T00:00:00Z. */
export type ReplayRequest = { delivery: string } | { since: string };
