/** What the client does when a server fails, hangs up, asks for patience, or knows more than it does. */

import assert from "node:assert/strict";
import test from "node:test";

import { ApiError, BadRequest, Emissary, ServerUnreachable } from "../src/index.js";
import { asPieces } from "../src/lines.js";
import { answer, hangUp, lines, problem, scripted } from "./scripted.js";
import type { Asked } from "./scripted.js";

const PAGE = { id: "job_1", status: "completed", creditsUsed: 1 };

function line(cursor: number): string {
  return JSON.stringify({ cursor: String(cursor), id: `job_${cursor}`, index: cursor, status: "completed" }) + "\n";
}

function keysOf(asked: Asked[]): Set<unknown> {
  return new Set(asked.map((each) => each.headers["idempotency-key"]));
}

async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of from) found.push(each);
  return found;
}

test("whoever hangs up is asked again with the same key", () =>
  scripted([hangUp, hangUp, answer(200, PAGE)], async (url, asked) => {
    assert.equal((await new Emissary(url, "em_test").scrape("http://a/")).id, "job_1");
    assert.equal(asked.length, 3);
    assert.equal(keysOf(asked).size, 1);
    assert.deepEqual(new Set(asked.map((each) => each.body)), new Set(['{"url":"http://a/"}']));
    assert.equal(asked[0]?.headers.authorization, "Bearer em_test");
  }));

test("two calls have two keys", () =>
  scripted([answer(200, PAGE), answer(200, PAGE)], async (url, asked) => {
    const client = new Emissary(url, "em_test");
    await client.scrape("http://a/");
    await client.scrape("http://a/");
    assert.equal(keysOf(asked).size, 2);
  }));

for (const status of [429, 503]) {
  test(`a server that asks for patience with ${status} gets it`, () =>
    scripted([problem(status, "queue_full", { "Retry-After": "1" }), answer(200, PAGE)], async (url, asked) => {
      const begun = performance.now();
      assert.equal((await new Emissary(url, "em_test").scrape("http://a/")).id, "job_1");
      assert.ok(performance.now() - begun > 950);
      assert.equal(keysOf(asked).size, 1);
    }));
}

test("our own first try is waited for", () => {
  const underWay = problem(409, "idempotency_in_flight", { "Retry-After": "1" });
  return scripted([hangUp, ...Array(5).fill(underWay), answer(200, PAGE)], async (url, asked) => {
    assert.equal((await new Emissary(url, "em_test").scrape("http://a/")).id, "job_1");
    assert.equal(keysOf(asked).size, 1);
  });
});

test("more patience than we have is told", () =>
  scripted([problem(429, "queue_full", { "Retry-After": "3600" })], async (url) => {
    const told = { status: 429, code: "queue_full", retryAfter: 3600, detail: "this is queue_full", isCallers: true };
    await assert.rejects(new Emissary(url, "em_test").scrape("http://a/"), told);
  }));

for (const status of [307, 400, 401, 402, 404, 409, 422, 500]) {
  test(`what will not change is asked once: ${status}`, () =>
    scripted([problem(status, "x", { Location: "/elsewhere" })], async (url, asked) => {
      await assert.rejects(new Emissary(url, "em_test").scrape("http://a/"), ApiError);
      assert.equal(asked.length, 1);
    }));
}

test("patience ends", () =>
  scripted([], async (url, asked) => {
    await assert.rejects(new Emissary(url, "em_test", { attempts: 2 }).account(), ServerUnreachable);
    assert.equal(asked.length, 2);
  }));

test("silence is not waited out", () =>
  scripted([lines([line(1)], "silent")], async (url) => {
    const client = new Emissary(url, "em_test", { timeout: 0.2, attempts: 1 });
    await assert.rejects(all(client.results("bat_1")), /nothing came from it for 0.2 s/);
  }));

test("a call is given up when its signal says so, also while it rests", () =>
  scripted([problem(503, "x", { "Retry-After": "50" })], async (url) => {
    const leaving = new AbortController();
    const asking = new Emissary(url, "em_test").until(leaving.signal).account();
    setTimeout(() => leaving.abort(new Error("enough")), 200);
    await assert.rejects(asking, /enough/);
  }));

test("somebody between us may answer in another form", () =>
  scripted([answer(404, "<h1>Nothing</h1>"), answer(200, "what?")], async (url, asked) => {
    const client = new Emissary(url, "em_test");
    await assert.rejects(client.account(), (error) => error instanceof ApiError && error.detail.includes("<h1>Nothing"));
    await assert.rejects(client.account(), /not what was expected/);
    assert.equal(asked.length, 2);
  }));

test("results go on behind the last line that came whole", () => {
  const cut = lines([line(1), line(2), line(3).slice(0, 20)], "dead");
  return scripted([cut, hangUp, lines([line(3), line(4)], "end")], async (url, asked) => {
    const results = await all(new Emissary(url, "em_test").results("bat_1"));
    assert.deepEqual(results.map((each) => each.cursor), ["1", "2", "3", "4"]);
    assert.deepEqual(asked.map((each) => each.line), [
      "GET /v1/batch/bat_1/results",
      "GET /v1/batch/bat_1/results?after=2",
      "GET /v1/batch/bat_1/results?after=2",
    ]);
    assert.equal(asked[0]?.headers.accept, "application/x-ndjson");
  });
});

test("a stream that is left in the middle is hung up on", async () => {
  let isLeft: Promise<unknown> = Promise.resolve();
  const endless = lines([line(1), line(2)], "silent");
  await scripted(
    [
      (response) => {
        isLeft = new Promise((resolve) => response.on("close", resolve));
        endless(response);
      },
    ],
    async (url) => {
      for await (const result of new Emissary(url, "em_test").results("bat_1")) {
        assert.equal(result.cursor, "1");
        break;
      }
      await isLeft;
    },
  );
});

test("pages that can be had only once are sent only once", () =>
  scripted([hangUp, hangUp, answer(202, { id: "bat_1", accepted: 1 })], async (url, asked) => {
    const client = new Emissary(url, "em_test");
    const once = (function* () {
      yield "http://a/";
    })();
    await assert.rejects(client.batch(once), ServerUnreachable);
    assert.equal(asked.length, 1);
    assert.equal((await client.batch(["http://a/"], { formats: ["text"] })).id, "bat_1");
    assert.equal(asked.at(-1)?.body, '{"formats":["text"]}\n{"url":"http://a/"}\n');
  }));

test("a source of pages that fails is the caller's own error, and is not tried again", () =>
  scripted([], async (url) => {
    const failing = (async function* () {
      yield "http://a/";
      throw new Error("the disk is gone");
    })();
    await assert.rejects(new Emissary(url, "em_test").batch(failing), /^Error: the disk is gone/);
  }));

test("a long batch goes out in small pieces", async () => {
  let [most, sum] = [0, 0];
  const pages = (function* () {
    for (let number = 0; number < 50_000; number += 1) yield `http://shop.example/${number}`;
  })();
  for await (const piece of asPieces({}, pages)) [most, sum] = [Math.max(most, piece.length), sum + piece.length];
  assert.ok(sum > 1_500_000 && most < 100_000);
});

test("what cannot be asked for is said before anybody is asked", async () => {
  for (const wrong of ["nonsense", "ftp://127.0.0.1/", "http://", "http://a:b@127.0.0.1/", "http://127.0.0.1:x/"]) {
    assert.throws(() => new Emissary(wrong, "em_test"), BadRequest);
  }
  const client = new Emissary("http://127.0.0.1:1", "em_test", { attempts: 1 });
  await assert.rejects(client.status("job_1"), BadRequest);
  await assert.rejects(client.batch("http://a/"), BadRequest);
  await assert.rejects(client.account(), ServerUnreachable);
});
