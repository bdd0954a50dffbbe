/** Every verb of the API. */

import { hasEnded } from "./answers.js";
import type * as answers from "./answers.js";
import { Caller, NDJSON } from "./calling.js";
import type { Call, Patience } from "./calling.js";
import { BadRequest } from "./errors.js";
import { asPieces, canBeHadAgain, checkPages, wholeLines } from "./lines.js";
import type { Pages } from "./lines.js";
import type * as options from "./options.js";

const PATIENCE: Patience = { timeout: 60, attempts: 4, longestRest: 60 };
const NOUNS: Record<string, string> = { bat: "batch", crl: "crawl" };
const DEFAULT_TIMEOUTS: Record<string, number> = { scrape: 30_000, map: 30_000, plan: 10_000 };
const FIRST_LOOK = 0.1;
const LAST_LOOK = 2;
const AT_ONCE = 1000;
const LONGEST_TRIAL = 30; // seconds

/** A client of one server. Without a URL or a key, EMISSARY_URL and EMISSARY_API_KEY are taken. */
export class Emissary {
  private readonly caller: Caller;

  constructor(
    private readonly url = process.env["EMISSARY_URL"],
    private readonly key = process.env["EMISSARY_API_KEY"],
    private readonly patience: Partial<Patience> = {},
    signal?: AbortSignal,
  ) {
    if (!url) throw new BadRequest("no server is named: give its URL or set EMISSARY_URL");
    this.caller = new Caller(addressOf(url), key, { ...PATIENCE, ...patience }, signal);
  }

  /** The same client, whose calls are given up when the signal says so. */
  until(signal: AbortSignal): Emissary {
    return new Emissary(this.url, this.key, this.patience, signal);
  }

  // One page

  /** Read one page, and wait for it as long as `timeoutMs` says; then it may still be `waiting`. */
  async scrape(url: string, options: options.ScrapeOptions = {}): Promise<answers.Scraped> {
    return this.post("scrape", { url, ...options });
  }

  /** Have one page read some time: the answer is the job, as it waits. */
  async submit(url: string, options: options.ScrapeOptions = {}): Promise<answers.Scraped> {
    return this.post("scrape", { url, async: true, ...options });
  }

  /** A job as it is now. */
  async job(job: string): Promise<answers.Job> {
    return this.caller.ask({ method: "GET", path: `/v1/jobs/${encodeURIComponent(job)}` });
  }

  /** The jobs of the account, the newest first: those that are so, of this batch, at this host; or all. */
  jobs({ status, batch, host }: options.JobsOptions = {}): AsyncGenerator<answers.JobLine> {
    return this.pages("/v1/jobs", { status, batch, host });
  }

  /** A job, once it has ended. */
  async waitForJob(job: string): Promise<answers.Job> {
    return last(this.looks(() => this.job(job)));
  }

  /** End a job that has not ended. */
  async cancelJob(job: string): Promise<answers.Job> {
    return this.caller.ask({ method: "DELETE", path: `/v1/jobs/${encodeURIComponent(job)}` });
  }

  /** Who asked for a page, under which rule, what came and when. */
  async receipt(receipt: string): Promise<answers.Receipt> {
    return this.caller.ask({ method: "GET", path: `/v1/receipts/${encodeURIComponent(receipt)}` });
  }

  /** A document by its own id, as its job left it. */
  async document(document: string): Promise<answers.Document> {
    return this.caller.ask({ method: "GET", path: `/v1/documents/${encodeURIComponent(document)}` });
  }

  /** The exchange that a document was made from, as WARC. It is kept for a day, and not of every page. */
  async capture(document: string): Promise<Uint8Array> {
    const path = `/v1/documents/${encodeURIComponent(document)}/capture`;
    return this.caller.fetch({ method: "GET", path, accept: "application/warc" });
  }

  // Many pages

  /**
   * Have many pages read: URLs, or objects with `url` and `metadata`; `linesOf` makes them of a file.
   * They are sent as they come, so that a million take no memory here, and are on disk there when this returns.
   */
  async batch(pages: Pages, options: options.BatchOptions = {}): Promise<answers.Accepted> {
    checkPages(pages);
    const [pieces, isRepeatable] = [() => asPieces(options, pages), canBeHadAgain(pages)];
    return this.caller.ask({ method: "POST", path: "/v1/batch", pieces, isRepeatable });
  }

  /** Have a site read, from one page on. */
  async crawl(url: string, options: options.CrawlOptions = {}): Promise<answers.Begun> {
    return this.post("crawl", { url, ...options });
  }

  /** A batch or a crawl as it is now. */
  async status(batch: string): Promise<answers.BatchStatus> {
    return this.caller.ask({ method: "GET", path: pathOf(batch) });
  }

  /** Begin no further page. */
  async pause(batch: string): Promise<answers.BatchStatus> {
    return this.caller.ask({ method: "POST", path: pathOf(batch, "/pause") });
  }

  /** Go on where it was paused. */
  async resume(batch: string): Promise<answers.BatchStatus> {
    return this.caller.ask({ method: "POST", path: pathOf(batch, "/resume") });
  }

  /** Read once more what failed, or what was refused. */
  async retry(batch: string, only: "failed" | "refused" = "failed"): Promise<answers.Again> {
    return this.caller.ask({ method: "POST", path: pathOf(batch, "/retry"), body: { only } });
  }

  /** End it: what has not been read will not be. */
  async cancel(batch: string): Promise<answers.BatchStatus> {
    return this.caller.ask({ method: "DELETE", path: pathOf(batch) });
  }

  /** A batch or a crawl as it is now, and again whenever some time has passed; the last one has ended. */
  watch(batch: string): AsyncGenerator<answers.BatchStatus> {
    return this.looks(() => this.status(batch));
  }

  /** A batch or a crawl, once it has ended; `progress` is called with each look at it before. */
  async wait(batch: string, progress?: (now: answers.BatchStatus) => unknown): Promise<answers.BatchStatus> {
    return last(this.watch(batch), progress);
  }

  /** The pages in the order in which they came, without what they left behind. */
  items(batch: string, status?: string): AsyncGenerator<answers.Item> {
    return this.pages(pathOf(batch, "/items"), { status });
  }

  /** The pages that failed or were refused. */
  errors(batch: string): AsyncGenerator<answers.Item> {
    return this.pages(pathOf(batch, "/errors"));
  }

  /** The pages that have ended by now, as they did, with what they left behind; `after` is a cursor of one. */
  async *results(batch: string, after = ""): AsyncGenerator<answers.Result> {
    for await (const line of this.resultLines(batch, after)) yield JSON.parse(line) as answers.Result;
  }

  /**
   * The same as the server sends it: a line of JSON for each, with its `cursor`.
   * Where the stream is cut, it is asked for again behind the last line that came whole.
   */
  async *resultLines(batch: string, after = ""): AsyncGenerator<string> {
    const call: Call = { method: "GET", path: pathOf(batch, "/results"), accept: NDJSON };
    for (let tried = 0; ; ) {
      try {
        for await (const bytes of wholeLines(this.caller.stream({ ...call, query: { after } }))) {
          const line = Buffer.from(bytes).toString();
          [after, tried] = [(JSON.parse(line) as answers.Result).cursor, 0];
          yield line;
        }
        return;
      } catch (error) {
        tried += 1;
        await this.caller.rest(error, tried);
      }
    }
  }

  // Sites, and the account

  /** List the pages of a site, without reading them. */
  async map(url: string, options: options.MapOptions = {}): Promise<answers.SiteMap> {
    return this.post("map", { url, ...options });
  }

  /** What reading these pages would come to, or a crawl from one page on; none of them is asked for. */
  async plan(request: options.PlanRequest): Promise<answers.Plan> {
    return this.post("plan", request);
  }

  /** What the account of the key may do, and what it has in line. */
  async account(): Promise<answers.Account> {
    return this.caller.ask({ method: "GET", path: "/v1/account" });
  }

  /** What was used from one day to another. */
  usage({ from, to, by = "day" }: options.UsageOptions = {}): AsyncGenerator<answers.UsageRow> {
    return this.pages("/v1/usage", { from, to, by });
  }

  // Keys of the account, for a key with the scope `keys`

  /** All keys that the account has had, those that open nothing any more as well; none with its secret. */
  keys(): AsyncGenerator<answers.Key> {
    return this.pages("/v1/keys");
  }

  /** Make a key. Its secret is in this answer and nowhere else; it can do no more than your own. */
  async createKey(name: string, options: options.KeyOptions = {}): Promise<answers.NewKey> {
    return this.post("keys", { name, ...options });
  }

  /** Make a key in place of this one, which opens for so long still; a day, where nothing is said. */
  async rotateKey(key: string, options: options.RotateOptions = {}): Promise<answers.NewKey> {
    return this.post(`keys/${encodeURIComponent(key)}/rotate`, { ...options });
  }

  /** Let the key open nothing from now on. */
  async revokeKey(key: string): Promise<answers.Key> {
    return this.caller.ask({ method: "DELETE", path: `/v1/keys/${encodeURIComponent(key)}` });
  }

  // Webhooks of the account

  /** All webhooks of the account. */
  webhooks(): AsyncGenerator<answers.WebhookStatus> {
    return this.pages("/v1/webhooks");
  }

  /** Name a receiver of these events, or else of what refers to it. Its secret is shown this once. */
  async createWebhook(url: string, options: options.WebhookOptions = {}): Promise<answers.NewWebhook> {
    return this.post("webhooks", { url, ...options });
  }

  /** Tell nothing there any more, and forget its log. */
  async deleteWebhook(webhook: string): Promise<answers.WebhookStatus> {
    return this.caller.ask({ method: "DELETE", path: `/v1/webhooks/${encodeURIComponent(webhook)}` });
  }

  /** What was told there, or is on its way, the latest first. */
  deliveries(webhook: string, state?: string): AsyncGenerator<answers.Delivery> {
    return this.pages(`/v1/webhooks/${encodeURIComponent(webhook)}/deliveries`, { state });
  }

  /** Tell one delivery once more, or all that died since then. */
  async replay(webhook: string, request: options.ReplayRequest): Promise<answers.Replayed> {
    return this.post(`webhooks/${encodeURIComponent(webhook)}/replay`, request);
  }

  /** Send a `webhook.test` event now, once, and say what came back. */
  async testWebhook(webhook: string): Promise<answers.Trial> {
    const path = `/v1/webhooks/${encodeURIComponent(webhook)}/test`;
    return this.caller.ask({ method: "POST", path, takes: LONGEST_TRIAL });
  }

  private async post<T>(verb: string, body: { timeoutMs?: number; [name: string]: unknown }): Promise<T> {
    const takes = (body.timeoutMs ?? DEFAULT_TIMEOUTS[verb] ?? 0) / 1000;
    return this.caller.ask({ method: "POST", path: `/v1/${verb}`, body, takes });
  }

  /** Page after page of a list, each asked for when the one before has been read. */
  private async *pages<T>(path: string, query: Call["query"] = {}): AsyncGenerator<T> {
    for (let after: string | null = ""; after !== null; ) {
      const call: Call = { method: "GET", path, query: { ...query, after, limit: AT_ONCE } };
      const listed: { data: T[]; next: string | null } = await this.caller.ask(call);
      yield* listed.data;
      after = listed.next;
    }
  }

  private async *looks<T extends { status: string }>(look: () => Promise<T>): AsyncGenerator<T> {
    for (let rest = FIRST_LOOK; ; rest = Math.min(rest * 1.5, LAST_LOOK)) {
      const found = await look();
      yield found;
      if (hasEnded(found)) return;
      await this.caller.sleep(rest);
    }
  }
}

async function last<T>(looks: AsyncGenerator<T>, progress?: (now: T) => unknown): Promise<T> {
  let found: T | undefined;
  for await (found of looks) progress?.(found);
  return found as T;
}

function addressOf(url: string): string {
  const where = parsed(url);
  if (where === undefined || !["http:", "https:"].includes(where.protocol) || where.username !== "") {
    throw new BadRequest(`"${url}" is no address of a server: write http://127.0.0.1:7733, or https://…`);
  }
  return where.origin + where.pathname.replace(/\/+$/, "");
}

function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function pathOf(batch: string, part = ""): string {
  const noun = NOUNS[batch.split("_")[0] ?? ""];
  if (noun === undefined) {
    throw new BadRequest(`"${batch}" is no batch and no crawl: their names begin with bat_ and crl_`);
  }
  return `/v1/${noun}/${encodeURIComponent(batch)}${part}`;
}
