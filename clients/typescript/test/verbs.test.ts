/** Every verb against a running server on the local web; `./emissary test-clients` starts both. */

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { ApiError, Emissary, endedOf, hasEnded, linesOf } from "../src/index.js";
import type { BatchStatus, Item } from "../src/index.js";

const web = JSON.parse(process.env["EMISSARY_TEST_WEB"] ?? "{}") as Record<string, string>;
const client = new Emissary();

function site(name: string, path: string): string {
  assert.ok(web[name], `the local web has no ${name}: run ./emissary test-clients`);
  return web[name] + path;
}

async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of from) found.push(each);
  return found;
}

test("a page comes as types", async () => {
  const fields = { price: { css: "[itemprop=price]", attr: "content", type: "number" } };
  const page = await client.scrape(site("shop", "/product/1"), { formats: ["markdown", "links"], fields });
  assert.deepEqual([page.status, hasEnded(page), page.creditsUsed], ["completed", true, 1]);
  assert.equal(page.outcome?.code, "ok");
  assert.ok(page.document);
  assert.ok(page.document.markdown);
  assert.equal(page.document.html, undefined);
  assert.equal(typeof page.document.fields?.["price"], "number");
  assert.ok(page.document.links?.length);
  assert.equal((await client.receipt(page.receipt?.id ?? "")).sha256, page.receipt?.sha256);
});

test("a document and what it was made from are there by its id", async () => {
  const { document } = await client.scrape(site("host1", "/small?kept"), { formats: ["text"] });
  assert.ok(document);
  assert.deepEqual(await client.document(document.id), document);
  const capture = Buffer.from(await client.capture(document.id));
  assert.ok(capture.toString().startsWith("WARC/1.1"));
  assert.ok(capture.includes("A small page"));
  await assert.rejects(client.capture("doc_1"), { status: 404, code: "not_found" });
});

test("a refusal is an answer and no exception", async () => {
  const page = await client.scrape(site("closed", "/prices"));
  assert.deepEqual([page.status, page.outcome?.kind, page.outcome?.code], ["refused", "refusal", "robots"]);
  assert.ok(!page.document);
});

test("a job is waited for and can no longer be cancelled", async () => {
  const begun = await client.submit(site("host1", "/small"), { formats: ["text"], metadata: { mine: 7 } });
  const job = await client.waitForJob(begun.id);
  assert.deepEqual([job.id, job.status, job.kind], [begun.id, "completed", "scrape.http"]);
  assert.ok(job.document?.text?.includes("A small page"));
  await assert.rejects(client.cancelJob(begun.id), { status: 409, code: "job_finished", isCallers: true });
});

test("jobs are listed by what they are", async () => {
  const { id } = await client.batch([site("host1", "/small?listed"), site("closed", "/listed")]);
  await client.wait(id);
  const [refused, read] = await all(client.jobs({ batch: id }));
  assert.deepEqual([refused?.url, refused?.status, refused?.batch], [site("closed", "/listed"), "refused", id]);
  assert.equal(refused?.outcome?.code, "robots");
  assert.deepEqual((await all(client.jobs({ batch: id, status: "refused" }))).map((job) => job.id), [refused?.id]);
  assert.deepEqual((await all(client.jobs({ batch: id, host: read?.host ?? "" }))).map((job) => job.id), [read?.id]);
});

test("a webhook is named by its id", async () => {
  const webhook = `whk_${"0".repeat(26)}`;
  const fault = { status: 400, code: "unknown_webhook" };
  await assert.rejects(client.scrape(site("host1", "/small"), { webhook }), fault);
  await assert.rejects(client.batch([site("host1", "/small")], { webhook }), fault);
  await assert.rejects(client.crawl(site("host1", "/small"), { webhook }), fault);
});

test("a webhook is made, tested, read, replayed and removed", async () => {
  const options = { events: ["crawl.completed"], description: "mine" };
  const made = await client.createWebhook(site("hooks", "/hook?typescript"), options);
  assert.ok(made.secret.startsWith("whsec_"));
  assert.deepEqual([made.events, made.description, made.active], [["crawl.completed"], "mine", true]);
  const { secret, ...shown } = made;
  assert.deepEqual((await all(client.webhooks())).find((each) => each.id === made.id), shown);
  const trial = await client.testWebhook(made.id);
  assert.deepEqual([trial.state, trial.status], ["delivered", 204]);
  const told = await all(client.deliveries(made.id, "delivered"));
  assert.deepEqual(told.map((each) => [each.id, each.type]), [[trial.delivery, "webhook.test"]]);
  assert.deepEqual(await all(client.deliveries(made.id, "dead")), []);
  assert.equal((await client.replay(made.id, { delivery: trial.delivery })).replayed, 1);
  assert.equal((await client.replay(made.id, { since: made.createdAt })).replayed, 0);
  assert.equal((await client.deleteWebhook(made.id)).id, made.id);
  await assert.rejects(client.replay(made.id, { delivery: trial.delivery }), { status: 404, code: "not_found" });
});

test("keys are made, listed, rotated and revoked", async () => {
  const expiresAt = "2999-01-31T00:00:00Z";
  const made = await client.createKey("typescript", { scopes: ["read"], expiresAt });
  assert.deepEqual([made.name, made.scopes, made.live], ["typescript", ["read"], true]);
  assert.equal(Date.parse(made.expiresAt ?? ""), Date.parse(expiresAt));
  assert.ok(made.key.startsWith(made.hint ?? "none"));
  const next = await client.rotateKey(made.id, { graceSeconds: 0 });
  assert.notEqual(next.key, made.key);
  await assert.rejects(new Emissary(undefined, made.key).account(), { status: 401 });
  assert.ok((await new Emissary(undefined, next.key).account()).id);
  assert.equal((await client.revokeKey(next.id)).live, false);
  const listed = (await all(client.keys())).filter((key) => key.name === "typescript");
  assert.deepEqual(new Map(listed.map((key) => [key.id, key.live])), new Map([[made.id, false], [next.id, false]]));
  await assert.rejects(client.revokeKey("key_1"), { status: 404, code: "not_found" });
  assert.deepEqual((await client.createKey("typescript, plain")).scopes, ["read", "write"]);
});

test("a batch takes what comes and tells how far it is", async () => {
  async function* pages() {
    for (const number of [1, 2, 2, 3]) yield new URL(site("host2", `/page/${number}`));
    yield "nonsense";
    yield { url: site("closed", "/a"), metadata: { n: 1 } };
  }
  const accepted = await client.batch(pages(), { formats: ["text"], name: "mine" });
  assert.deepEqual([accepted.accepted, accepted.duplicates, accepted.invalidCount], [4, 1, 1]);
  assert.deepEqual(accepted.invalid.map(({ index, code }) => [index, code]), [[4, "invalid_url"]]);
  const seen: BatchStatus[] = [];
  const status = await client.wait(accepted.id, (now) => seen.push(now));
  assert.deepEqual([status.status, status.name, status.total], ["completed", "mine", 4]);
  assert.deepEqual([status.counts.completed, status.counts.refused, endedOf(status.counts)], [3, 1, 4]);
  assert.equal(seen.at(-1), status);

  const [failed] = await all(client.errors(accepted.id));
  assert.deepEqual([failed?.url, failed?.metadata], [site("closed", "/a"), { n: 1 }]);
  assert.deepEqual((await all(client.items(accepted.id))).map(indexOf), [0, 1, 2, 3]);
  assert.deepEqual((await all(client.items(accepted.id, "refused"))).map(indexOf), [3]);
  const results = await all(client.results(accepted.id));
  assert.deepEqual(results.map(indexOf).sort(), [0, 1, 2, 3]);
  assert.ok(results.every((each) => !each.document === (each.status === "refused")));
  const others = await all(client.results(accepted.id, results[1]?.cursor));
  assert.deepEqual(others.map(indexOf), results.slice(2).map(indexOf));
});

function indexOf(item: Item): number {
  return item.index;
}

test("a file of lines may have urls and objects", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "emissary-")), "pages.txt");
  const page = { url: site("host3", "/b"), metadata: { n: 1 } };
  await writeFile(file, `${site("host3", "/a")}\n\n${JSON.stringify(page)}`);
  const accepted = await client.batch(linesOf(createReadStream(file)));
  await client.wait(accepted.id);
  assert.deepEqual((await all(client.items(accepted.id))).map((item) => item.metadata), [null, { n: 1 }]);
  await assert.rejects(client.batch(linesOf(createReadStream(`${file}.not`))), { code: "ENOENT" });
});

test("a batch is steered", async () => {
  const accepted = await client.batch([site("trouble", "/status/500?a"), site("host4", "/x")]);
  assert.equal((await client.pause(accepted.id)).status, "paused");
  assert.equal((await client.resume(accepted.id)).status, "running");
  assert.equal((await client.cancel(accepted.id)).status, "cancelled");
  assert.equal(endedOf((await client.wait(accepted.id)).counts), 2);
  await assert.rejects(client.resume(accepted.id), { code: "batch_finished" });
});

test("what was refused is read once more if that is wanted", async () => {
  const accepted = await client.batch(new Set([site("closed", "/b")]));
  await client.wait(accepted.id);
  assert.equal((await client.retry(accepted.id)).again, 0);
  assert.equal((await client.retry(accepted.id, "refused")).again, 1);
  assert.equal((await client.wait(accepted.id)).counts.refused, 1);
});

test("a site is crawled, mapped and planned", async () => {
  const begun = await client.crawl(site("news", "/"), { limit: 3, formats: ["text"] });
  assert.equal((await client.wait(begun.id)).status, "completed");
  const read = (await all(client.results(begun.id))).filter((each) => each.part === "page");
  assert.equal(read.filter((each) => each.status === "completed").length, 3);
  const found = await client.map(site("news", "/"), { limit: 4 });
  assert.deepEqual([found.complete, found.links.length], [false, 4]);
  const plan = await client.plan({ urls: [site("host5", "/a"), site("closed", "/prices")] });
  assert.deepEqual([plan.urls, plan.refusedCount, plan.refused[0]?.code, plan.credits], [2, 1, "robots", 1]);
  assert.equal((await client.plan({ url: site("news", "/"), limit: 7 })).urls, 7);
});

test("an account sees what it used", async () => {
  await client.scrape(site("host6", "/small"));
  assert.ok((await client.account()).usage.jobs >= 1);
  const rows = await all(client.usage({ by: "kind" }));
  assert.ok((rows.find((row) => row.key === "scrape.http")?.credits ?? 0) >= 1);
});

test("a list is read on page by page", async () => {
  const pages = Array.from({ length: 1050 }, (_, number) => site("host7", `/${number}`));
  const accepted = await client.batch(pages);
  assert.equal((await all(client.items(accepted.id))).length, 1050);
  await client.cancel(accepted.id);
});

test("what is not there is an error with its code", async () => {
  for (const name of ["bat_nothing", "crl_nothing"]) {
    await assert.rejects(client.status(name), { status: 404, code: "not_found" });
    await assert.rejects(all(client.results(name)), { status: 404, code: "not_found" });
  }
});

test("a fault names its place", async () => {
  const wrong = { colour: "red" } as object;
  await assert.rejects(client.scrape("http://127.0.0.1/", wrong), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code], [400, "unknown_field"]);
    assert.deepEqual(error.errors, [{ pointer: "/colour", detail: "there is no such field" }]);
    return true;
  });
});

test("a wrong key is told before a long batch was sent", async () => {
  let number = 0;
  const pages = (function* () {
    while (number < 1_000_000) yield `http://127.0.0.1/${(number += 1)}`;
  })();
  const stranger = new Emissary(undefined, "em_wrong_key");
  await assert.rejects(stranger.batch(pages), { status: 401, code: "invalid_key" });
  assert.ok(number < 1_000_000, `all ${number} were sent`);
});
