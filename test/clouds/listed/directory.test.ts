import { expect, test } from "vitest";
import { createMeter } from "#clouds/http/meter.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import { createListing } from "#clouds/listed/listing.ts";
import { createDirectory } from "#clouds/listed/look-up.ts";

const FAULT: Fault = { code: "Unavailable", message: "page 2 is missing" };
const both = [
  { id: "1", name: "a" },
  { id: "2", name: "b" },
];

test("a partial list is remembered without a better one, and never in place of a complete one", async () => {
  let now = 0;
  const lists = [
    { machines: both, incomplete: undefined },
    { machines: both.slice(0, 1), incomplete: FAULT },
    { machines: both.slice(0, 1), incomplete: FAULT },
    { machines: [], incomplete: FAULT },
  ];
  const fetch = async () =>
    createListing({ startedAt: now, pages: 1, ...(lists.shift() ?? { machines: [], incomplete: FAULT }) });
  const directory = createDirectory(fetch, 100, () => now);
  const known: (number | undefined)[] = [];
  for (const at of [0, 50, 150, 200]) {
    now = at;
    await directory.list({ signal: AbortSignal.timeout(120_000), meter: createMeter() });
    known.push(directory.getRecent()?.byId.size);
  }
  expect(known).toEqual([2, 2, 1, 1]);
});
