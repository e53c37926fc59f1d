import { expect, test } from "vitest";
import { Decision } from "#core/decision.ts";
import { change, leaveUnchanged, patchObject, planEach, retry, skip, toReference } from "#core/decisions.ts";
import { add, test as expects } from "#core/json-patch.ts";

const SERVICES = { apiVersion: "v1", kind: "Service", name: "services", namespaced: true };
const WEB = { metadata: { namespace: "a", name: "web", uid: "uid-1" } };
const REFERENCE = toReference(SERVICES, WEB);
const BECAUSE = { code: "Test", message: "test" };

test("a reference contains the object's namespace", () => {
  expect(REFERENCE).toEqual({ apiVersion: "v1", kind: "Service", namespace: "a", name: "web", uid: "uid-1" });
});

test("a patch tests the uid first, and a path of two edits once", () => {
  const guard = { tests: [expects("/spec", {})], operations: [add("/status/x", 1)] };
  expect(patchObject(SERVICES, WEB, [guard, { ...guard, operations: [] }], "status")).toEqual({
    on: "cluster",
    apiVersion: "v1",
    resource: "services",
    namespace: "a",
    name: "web",
    verb: "patch",
    subresource: "status",
    precondition: [expects("/metadata/uid", "uid-1"), expects("/spec", {})],
    patch: [add("/status/x", 1)],
  });
});

test("every kind of decision matches its schema", () => {
  const write = patchObject(SERVICES, WEB, [{ tests: [], operations: [add("/status/x", 1)] }]);
  const decisions = [
    change(REFERENCE, [undefined, write], { because: BECAUSE }),
    leaveUnchanged(REFERENCE),
    leaveUnchanged(REFERENCE, BECAUSE),
    skip(REFERENCE, BECAUSE),
    retry(REFERENCE, BECAUSE, 5),
  ];
  for (const decision of decisions) expect(Decision.parse(decision)).toEqual(decision);
  expect(change(REFERENCE, [undefined], { because: BECAUSE })).toBeUndefined();
  expect(planEach([skip(REFERENCE, BECAUSE)])).toEqual({
    kind: "each",
    decisions: [skip(REFERENCE, BECAUSE)],
  });
});
