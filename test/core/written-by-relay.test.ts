import { expect, test } from "vitest";
import { WATCHES } from "#core/watches.ts";
import { WRITABLE_BY_RELAY, writtenAs } from "#core/written-by-relay.ts";

test("a relay writes for each controller as the function of it, and for no other", () => {
  for (const { name, functionName } of WATCHES) {
    const written = WRITABLE_BY_RELAY.includes(name) ? functionName : undefined;
    expect(writtenAs(name)?.identity).toBe(written);
  }
  expect(writtenAs("toString")).toBeUndefined();
  expect(WRITABLE_BY_RELAY).toEqual([
    "cloud-node-controller",
    "cloud-node-lifecycle-controller",
    "csr-approver",
  ]);
});
