import { expect, test } from "vitest";
import { Decision } from "#core/decision.ts";
import { change, each, patchObject, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { add, test as expects } from "#core/json-patch.ts";

const SERVICES = { apiVersion: "v1", kind: "Service", name: "services", namespaced: true };
const WEB = { metadata: { namespace: "a", name: "web", uid: "uid-1" } };
const REFERENCE = referenceTo(SERVICES, WEB);
const BECAUSE = { code: "Test", message: "test" };

test("an object is named with its namespace", () => {
  expect(REFERENCE).toEqual({ apiVersion: "v1", kind: "Service", namespace: "a", name: "web", uid: "uid-1" });
});

test("a patch tests the uid first, and what two edits guard once", () => {
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

test("decisions of every kind are as their schema has them", () => {
  const write = patchObject(SERVICES, WEB, [{ tests: [], operations: [add("/status/x", 1)] }]);
  const decisions = [
    change(REFERENCE, [undefined, write], { because: BECAUSE }),
    unchanged(REFERENCE),
    unchanged(REFERENCE, BECAUSE),
    skip(REFERENCE, BECAUSE),
    retry(REFERENCE, BECAUSE, 5),
  ];
  for (const decision of decisions) expect(Decision.parse(decision)).toEqual(decision);
  expect(change(REFERENCE, [undefined], { because: BECAUSE })).toBeUndefined();
  expect(each([skip(REFERENCE, BECAUSE)])).toEqual({ kind: "each", decisions: [skip(REFERENCE, BECAUSE)] });
});
