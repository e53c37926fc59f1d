import { expect, test } from "vitest";
import { expandPlaceholders } from "../../../build/deployment/expand-placeholders.ts";

const FUNCTIONS = {
  "node-lifecycle": { name: "ccm-node-lifecycle", role: "NodeLifecycleFunctionRole" },
  route: { name: "ccm-route", role: "RouteFunctionRole", environment: { SESSION_ROLE_ARN: {} } },
  sweep: { name: "ccm-sweep", role: "SweepFunctionRole" },
};
const CONTROLLERS = ["node-lifecycle", "route"];

const expandAll = (configuration: Readonly<Record<string, unknown>>) =>
  expandPlaceholders(FUNCTIONS, CONTROLLERS, configuration);

test("repeats a list's item for every function, and returns the whole list", () => {
  const roles = [{ Ref: "{controller.role}" }, { Ref: "Other" }, "{session.name}"];
  expect(expandAll({ Roles: roles, Others: [{ Ref: "Other" }] })).toEqual([
    {
      path: ["Roles"],
      value: [
        { Ref: "NodeLifecycleFunctionRole" },
        { Ref: "RouteFunctionRole" },
        { Ref: "Other" },
        "ccm-route",
      ],
    },
  ]);
});

test("repeats a map's entry with all that is in it, and keeps the entries beside it", () => {
  const resources = [
    {},
    {
      Outputs: { A: { Value: 1 }, "{function.id}Arn": { Value: ["{function.resource}", "{function.key}"] } },
    },
  ];
  expect(expandAll({ resources })).toEqual([
    {
      path: ["resources", "1", "Outputs"],
      value: {
        A: { Value: 1 },
        NodeLifecycleArn: { Value: ["NodeDashlifecycleLambdaFunction", "node-lifecycle"] },
        RouteArn: { Value: ["RouteLambdaFunction", "route"] },
        SweepArn: { Value: ["SweepLambdaFunction", "sweep"] },
      },
    },
  ]);
});

test("finds lists in lists and maps, however deep", () => {
  const policy = { Statement: [{ Resource: ["{session.key}"] }] };
  expect(expandAll({ resources: [{ Policies: [policy] }] })).toEqual([
    { path: ["resources", "0", "Policies", "0", "Statement", "0", "Resource"], value: ["route"] },
  ]);
});

test("names a controller without a function", () => {
  expect(() => expandPlaceholders(FUNCTIONS, ["route", "example"], {})).toThrow(
    "functions.example is missing: src/core/descriptors.ts lists its controller",
  );
});

test.each([
  [{ Roles: ["{controller.color}"] }, "Roles: {controller.color} has an unknown field, or is in no list"],
  [{ resources: [{ A: { Text: "{function.key}" } }] }, "resources.0.A.Text: {function.key} has"],
])("rejects a placeholder that cannot be replaced: %j", (configuration, message) => {
  expect(() => expandAll(configuration)).toThrow(message);
});
