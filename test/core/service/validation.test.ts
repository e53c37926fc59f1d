import { describe, expect, test } from "vitest";
import { ValidationQuestion, Verdict } from "#core/service/validation.ts";

const SERVICE = {
  metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: {},
};

describe("what is asked about a Service before it is written, and what is said", () => {
  test.each([
    ["a new one", { service: SERVICE }, true],
    ["one that changes", { service: SERVICE, before: SERVICE }, true],
    ["none", {}, false],
    ["one without a name", { service: { ...SERVICE, metadata: {} } }, false],
  ])("a question about %s", (_given, question, isOne) => {
    expect(ValidationQuestion.safeParse(question).success).toBe(isOne);
  });

  test.each([
    ["for it", { kind: "allowed", because: "so" }, true],
    ["against it", { kind: "denied", problem: { code: "NoPorts", field: "spec.ports" } }, true],
    ["against it without a reason", { kind: "denied" }, false],
    ["neither", { kind: "perhaps" }, false],
  ])("a verdict %s", (_given, verdict, isOne) => {
    expect(Verdict.safeParse(verdict).success).toBe(isOne);
  });
});
