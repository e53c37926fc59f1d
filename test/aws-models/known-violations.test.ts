import { expect, test } from "vitest";
import { checkCall, expectViolations, takeViolations } from "#test/aws-models/aws-calls.ts";
import { checkValue } from "#test/aws-models/check-value.ts";
import { DEVIATIONS } from "#test/aws-models/known-violations.ts";
import { loadModel, type ServiceName } from "#test/aws-models/service-model.ts";
import { formatViolation, formatViolationKey } from "#test/aws-models/violation.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const WRONG = ["elbv2:DeleteListener", "request", { Listener: "arn" }] as const;

describeWithPart("aws-models", "violations", (folder) => {
  test.each(Object.entries(DEVIATIONS))("%s is still one", (key, { call, side, value }) => {
    const [service, operation = ""] = call.split(":") as [ServiceName, string];
    const model = loadModel(folder, service);
    const found = model.operations[operation];
    const reference = (side === "request" ? found?.input : found?.output) ?? { shape: "" };
    const keys: string[] = [];
    checkValue(model, reference, value, "sdk", (path, rule) =>
      keys.push(formatViolationKey({ operation: call, side, path, rule })),
    );
    expect(keys).toEqual([key]);
    checkCall(call, side, value);
    expect(takeViolations()).toEqual({ violations: [], missing: [] });
  });

  test("are returned once, in words without the value", () => {
    for (let count = 0; count < 3; count += 1) checkCall(...WRONG);
    expect(takeViolations().violations.map(formatViolation)).toEqual([
      "elbv2:DeleteListener, request, Listener: unknown: no such member, with a string of 3 characters",
      "elbv2:DeleteListener, request, ListenerArn: required: a required member, which is missing",
    ]);
    expect(takeViolations()).toEqual({ violations: [], missing: [] });
  });

  test("that a test expects are not returned, and missing ones are named", () => {
    expectViolations("elbv2:DeleteListener request Listener unknown", "ec2:CreateVpc request CidrBlock type");
    checkCall(...WRONG);
    const { violations, missing } = takeViolations();
    expect(violations.map(({ path }) => path)).toEqual(["ListenerArn"]);
    expect(missing).toEqual(["ec2:CreateVpc request CidrBlock type"]);
  });
});
