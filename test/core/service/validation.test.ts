import { describe, expect, test } from "vitest";
import { ValidationQuestion, ValidationResult } from "#core/service/validation.ts";

const SERVICE = {
  metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: {},
};

describe("the schema of Service validation: whether it accepts", () => {
  test.each([
    ["a new Service", { service: SERVICE }, true],
    ["a changed Service", { service: SERVICE, before: SERVICE }, true],
    ["no Service", {}, false],
    ["a Service without a name", { service: { ...SERVICE, metadata: {} } }, false],
  ])("a question about %s", (_given, question, isOne) => {
    expect(ValidationQuestion.safeParse(question).success).toBe(isOne);
  });

  test.each([
    ["that allows the Service", { kind: "allowed", because: "so" }, true],
    [
      "that denies the Service with an issue",
      { kind: "denied", issue: { code: "NoPorts", field: "spec.ports" } },
      true,
    ],
    ["that denies the Service without an issue", { kind: "denied" }, false],
    ["of an unknown kind", { kind: "perhaps" }, false],
  ])("a result %s", (_given, verdict, isOne) => {
    expect(ValidationResult.safeParse(verdict).success).toBe(isOne);
  });
});
