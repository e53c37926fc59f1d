import { expect, test } from "vitest";
import { WATCHES } from "#core/controllers.ts";
import { findRelayWriter, WRITABLE_BY_RELAY } from "#core/relay-lease.ts";

test("a relay writes with the identity of the controller's function, and for no other controller", () => {
  for (const { name, functionName } of WATCHES) {
    const written = WRITABLE_BY_RELAY.includes(name) ? functionName : undefined;
    expect(findRelayWriter(name)?.identity).toBe(written);
  }
  expect(findRelayWriter("toString")).toBeUndefined();
  expect(WRITABLE_BY_RELAY).toEqual([
    "cloud-node-controller",
    "cloud-node-lifecycle-controller",
    "csr-approver",
  ]);
});
