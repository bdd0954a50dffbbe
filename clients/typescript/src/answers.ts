/** What the API answers, as types. States and codes are plain words, and times RFC 3339: a newer server may know more. */

/** What came back, in one word and in one sentence. */
export interface Outcome {
  kind: string;
  code: string;
  httpStatus: number | null;
  retryAt: string | null;
  detail: string | null;
  evidence?: string[];
}

/** A page as data: only the formats that were asked for are there. */
export interface Document {
  id: string;
  url: string;
  sourceUrl: string;
  title?: string;
  language?: string;
  rawHtml?: string;
  html?: string;
  markdown?: string;
  text?: string;
  links?: { url: string; text: string; rel: string }[];
  images?: { url: string; alt: string }[];
  metadata?: Record<string, unknown>;
  structured?: { jsonLd: unknown[]; microdata: unknown[]; openGraph: Record<string, unknown> };
  fields?: Record<string, unknown>;
  missing?: string[];
}

/** Who asked, under which rule, what came and when; docs/api.md has its fields. */
export type Receipt = { id: string; sha256: string | null } & Record<string, unknown>;

/** Why a job has not started yet. */
export interface WhyWaiting {
  lane: string;
  reason: string;
  until: string | null;
  ahead: number;
}

/** A scrape: what came of it, or why it waits. */
export interface Scraped {
  id: string;
  status: string;
  outcome?: Outcome | null;
  document?: Document | null;
  receipt?: Receipt | null;
  whyWaiting?: WhyWaiting | null;
  creditsUsed?: number;
}

/** A job as it is now. */
export interface Job extends Scraped {
  kind: string;
  attempts: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/** A job in a list, without what it left behind. */
export interface JobLine {
  id: string;
  kind: string;
  status: string;
  url: string | null;
  host: string | null;
  batch: string | null;
  attempts: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  outcome: Outcome | null;
}

/** A crawl that has begun. */
export interface Begun {
  id: string;
}

/** A page that was not accepted; the first is 0. */
export interface Fault {
  index: number;
  url: string;
  code: string;
}

/** A batch that has begun. Of the pages that were not accepted, the first thousand are named. */
export interface Accepted extends Begun {
  accepted: number;
  duplicates: number;
  invalidCount: number;
  invalid: Fault[];
  excludedCount: number;
  excluded: Fault[];
}

/** How many pages will be read once more. */
export interface Again extends Begun {
  again: number;
}

/** How many pages are how. All but `cached` add up to the total; those are among the completed. */
export interface Counts {
  waiting: number;
  active: number;
  completed: number;
  refused: number;
  failed: number;
  cancelled: number;
  cached: number;
}

/** A batch or a crawl as it is now. */
export interface BatchStatus {
  id: string;
  status: string;
  total: number;
  counts: Counts;
  name: string | null;
  outcomes: Record<string, number>;
  reason: string | null;
  pagesPerSecond: number | null;
  eta: string | null;
  creditsUsed: number;
  createdAt: string;
  finishedAt: string | null;
  /** The lanes in which most of it waits, and about how many pages wait there. */
  whyWaiting: (WhyWaiting & { items: number })[];
}

/** One page of a batch. */
export interface Item {
  id: string;
  index: number;
  url: string;
  status: string;
  part: string;
  depth: number;
  attempts: number;
  finishedAt: string | null;
  metadata: Record<string, unknown> | null;
  outcome: Outcome | null;
}

/** A page that has ended, with what it left behind. `cursor` leads on behind it. */
export interface Result extends Item {
  cursor: string;
  document: Document | null;
  receipt: Receipt | null;
}

/** The pages of a site, in the order in which they were found; `unread` are lists of pages that could not be read. */
export interface SiteMap extends Begun {
  complete: boolean;
  links: { url: string; title: string | null; lastModified: string | null; source: string }[];
  unread: { url: string; outcome: Outcome }[];
}

/** What would be asked of one host, at its pace; `gap` and `seconds` in seconds. */
export interface HostPlan {
  host: string;
  urls: number;
  refused: number;
  robots: string;
  gap: number;
  seconds: number;
  eta: string;
}

/** What would happen if it began now. */
export interface Plan {
  urls: number;
  duplicates: number;
  invalidCount: number;
  invalid: Fault[];
  hostCount: number;
  hosts: HostPlan[];
  refusedCount: number;
  refused: { url: string; code: string; detail: string }[];
  seconds: number;
  eta: string;
  credits: number;
}

/** How many jobs ended, and how. */
export interface Used {
  jobs: number;
  credits: number;
  cached: number;
  failed: number;
  refused: number;
}

/** The account of the key; null is no limit. */
export interface Account {
  id: string;
  allowance: {
    weight: number;
    mostActive: number | null;
    mostQueued: number | null;
    rate: { perMinute: number; burst: number } | null;
  };
  queued: number;
  active: number;
  credits: { left: number; reserved: number; available: number } | null;
  usage: Used & { from: string; to: string };
}

/** What was used of one day, kind or host. */
export interface UsageRow extends Used {
  key: string;
}

/** A key of the account, without its secret; `hint` is how it begins, where it is of the server's making. */
export interface Key {
  id: string;
  name: string;
  scopes: string[];
  hint: string | null;
  live: boolean;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
}

/** A key that was just made: its secret, `key`, is shown this once. */
export interface NewKey extends Key {
  key: string;
}

/** A webhook of the account as it is now, without the secret that its events are signed with. */
export interface WebhookStatus {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  active: boolean;
  disabledReason: string | null;
  createdAt: string;
}

/** A webhook that was just made: its secret is shown this once. */
export interface NewWebhook extends WebhookStatus {
  secret: string;
}

/** An event on its way to a webhook, or at the end of it. */
export interface Delivery {
  id: string;
  event: string;
  type: string;
  state: string;
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  lastAttemptAt: string | null;
  nextAttemptAt: string | null;
  replayed: boolean;
  createdAt: string;
}

/** How many events are told once more. */
export interface Replayed {
  replayed: number;
}

/** What came of a test of a webhook. */
export interface Trial {
  delivery: string;
  state: string;
  status: number | null;
  detail: string | null;
}

const ENDED = new Set(["completed", "failed", "refused", "cancelled"]);

/** Whether a job, a batch or a crawl is over. */
export function hasEnded(of: { status: string }): boolean {
  return ENDED.has(of.status);
}

/** How many pages of a batch are over. */
export function endedOf({ completed, refused, failed, cancelled }: Counts): number {
  return completed + refused + failed + cancelled;
}
