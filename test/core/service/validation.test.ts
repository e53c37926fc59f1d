import { describe, expect, test } from "vitest";
import { ValidationQuestion, ValidationResult } from "#core/service/validation.ts";

const SERVICE = {
  metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: {},
};

describe("questions and answers about a Service before it is written", () => {
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
    ["against it", { kind: "denied", issue: { code: "NoPorts", field: "spec.ports" } }, true],
    ["against it without a reason", { kind: "denied" }, false],
    ["neither", { kind: "perhaps" }, false],
  ])("a result %s", (_given, verdict, isOne) => {
    expect(ValidationResult.safeParse(verdict).success).toBe(isOne);
  });
});
