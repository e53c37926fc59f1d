import { expect, test } from "vitest";
import type { Watch } from "#core/controller.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { parsingOnce } from "#relay/feed/parse-once.ts";
import { serviceWatch } from "#test/relay/given-watches.ts";

/** A watch half, and how often it parses. */
function counting(watch: Watch): { readonly watch: Watch; readonly parsed: () => number } {
  let parsed = 0;
  const parse: Watch["parse"] = (value) => {
    parsed += 1;
    return watch.parse(value);
  };
  return { watch: { ...watch, parse }, parsed: () => parsed };
}

const node = {
  metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
};

test("controllers that parse alike parse an object once, and each object for itself", () => {
  const { watch, parsed } = counting(nodeWatch);
  const [one, other] = parsingOnce([watch, { ...watch, name: "other" }]);
  const results = [node, { ...node }].map((each) => [one?.parse(each), other?.parse(each)]);
  for (const [first, second] of results) expect(first).toBe(second);
  expect([parsed(), one?.name, other?.name]).toEqual([2, watch.name, "other"]);
});

test.each([undefined, null, "rubbish"])("%s is malformed for all of them", (value) => {
  const [one, other] = parsingOnce([nodeWatch, { ...nodeWatch, name: "other" }]);
  expect([one?.parse(value).kind, other?.parse(value).kind]).toEqual(["malformed", "malformed"]);
});

test("those that parse unlike each other are left as they are", () => {
  const watches: readonly Watch[] = [nodeWatch, serviceWatch];
  expect(parsingOnce(watches)).toEqual(watches);
});
