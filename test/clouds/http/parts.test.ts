import { expect, test } from "vitest";
import { readRateLimit } from "#clouds/http/budget.ts";
import { classify, parseJson } from "#clouds/http/classify.ts";
import { toErrorAnswer } from "#clouds/http/outcome.ts";

test.each<[string, unknown]>([
  ["1", 1],
  ["9007199254740991", 9_007_199_254_740_991],
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["1.5", 1.5],
  ["1e300", 1e300],
  ['"9007199254740993"', "9007199254740993"],
  ['{"a":[{"id":9223372036854775807}]}', { a: [{ id: "9223372036854775807" }] }],
])("%s is parsed with all its digits", (text, value) => {
  expect(parseJson(text)).toEqual(value);
});

const NOW = Date.parse("2026-01-01T00:00:00Z");

test.each<[Record<string, string>, Record<string, number>]>([
  [{}, {}],
  [
    { "ratelimit-limit": "5000", "ratelimit-remaining": "12", "ratelimit-reset": String(NOW / 1000 + 30) },
    { limit: 5000, remaining: 12, resetMs: 30_000 },
  ],
  [{ "ratelimit-reset": String(NOW / 1000 - 30) }, { resetMs: 0 }],
  [{ "ratelimit-remaining": "-1", "ratelimit-limit": "many", "ratelimit-reset": "" }, {}],
  [{ "retry-after": "17" }, { retryAfterMs: 17_000 }],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:40 GMT" }, { retryAfterMs: 40_000 }],
  [{ "retry-after": "Thu, 01 Jan 2015 00:00:40 GMT" }, { retryAfterMs: 0 }],
  [{ "retry-after": "soon" }, {}],
])("the headers %o mean %o", (headers, said) => {
  const nothing = { limit: undefined, remaining: undefined, resetMs: undefined, retryAfterMs: undefined };
  expect(readRateLimit({ status: 200, headers, body: "" }, NOW)).toEqual({ ...nothing, ...said });
});

test("only a part of a server's message is repeated, however long it is", () => {
  const many = "x".repeat(100_000);
  const html = { status: 502, headers: { "content-type": many }, body: "<html>" };
  const error = { status: 400, headers: {}, body: "{}" };
  const outcomes = [
    classify(html, "GET /", () => undefined),
    classify(error, "GET /", () => ({ id: many, message: many, requestId: many })),
  ];
  expect(outcomes.map(({ kind }) => kind)).toEqual(["fault", "fault"]);
  for (const outcome of outcomes) expect(JSON.stringify(outcome).length).toBeLessThan(2_000);
  const answer = toErrorAnswer(
    { code: "Foreign", message: `expected labels a=b, found ${many}` },
    "node blue",
  );
  expect(answer).toMatchObject({
    message: expect.stringMatching(/^node blue: expected labels a=b, found x+$/),
  });
  expect(JSON.stringify(answer).length).toBeLessThan(3_000);
});
