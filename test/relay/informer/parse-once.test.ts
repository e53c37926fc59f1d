import { expect, test } from "vitest";
import { nodeWatch } from "#core/node/watch.ts";
import type { Watch } from "#core/watch.ts";
import { shareParsing } from "#relay/enabled-watches.ts";
import { serviceWatch } from "#test/relay/watch-builders.ts";

/** Wraps a watch half and counts how often it parses. */
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

test("controllers that parse alike parse each object once", () => {
  const { watch, parsed } = counting(nodeWatch);
  const [one, other] = shareParsing([watch, { ...watch, name: "other" }]);
  const results = [node, { ...node }].map((each) => [one?.parse(each), other?.parse(each)]);
  for (const [first, second] of results) expect(first).toBe(second);
  expect([parsed(), one?.name, other?.name]).toEqual([2, watch.name, "other"]);
});

test.each([undefined, null, "rubbish"])("%s is malformed for all of them", (value) => {
  const [one, other] = shareParsing([nodeWatch, { ...nodeWatch, name: "other" }]);
  expect([one?.parse(value).kind, other?.parse(value).kind]).toEqual(["malformed", "malformed"]);
});

test("controllers that parse differently stay unchanged", () => {
  const watches: readonly Watch[] = [nodeWatch, serviceWatch];
  expect(shareParsing(watches)).toEqual(watches);
});
