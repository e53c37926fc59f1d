import { expect, test } from "vitest";
import {
  leaveOut,
  selectDefaultFunctions,
  selectOptionalFunctions,
} from "../../../build/deployment/select-functions.ts";

const FUNCTIONS = Object.fromEntries(
  ["node", "node-lifecycle", "sweep", "ec2-events"].map((name) => [
    name,
    { name: `a-${name}`, role: `${name}Role` },
  ]),
);

const RESOURCES = [
  {
    Resources: { nodeRole: { Type: "Role" }, "node-lifecycleRole": {}, sweepRole: {}, "ec2-eventsRole": {} },
  },
  {
    Resources: {
      Policy: {
        Roles: [{ Ref: "nodeRole" }, { Ref: "node-lifecycleRole" }, { Ref: "sweepRole" }],
        Resource: [{ "Fn::Sub": "x:function:a-node" }, { "Fn::Sub": "x:function:a-node-lifecycle" }, "*"],
        Rules: [{ "Fn::Sub": "x:rule/a-sweep" }, { "Fn::Sub": "x:rule/a-ec2-events" }, null, 1],
      },
    },
  },
];

test("removes the function of a missing controller, its helpers, and all references to them", () => {
  const { node, sweep } = FUNCTIONS;
  expect(leaveOut({ controllers: ["node"], sessionRoles: true }, FUNCTIONS, RESOURCES)).toEqual({
    functions: { node, sweep },
    resources: [
      { Resources: { nodeRole: { Type: "Role" }, sweepRole: {} } },
      {
        Resources: {
          Policy: {
            Roles: [{ Ref: "nodeRole" }, { Ref: "sweepRole" }],
            Resource: [{ "Fn::Sub": "x:function:a-node" }, "*"],
            Rules: [{ "Fn::Sub": "x:rule/a-sweep" }, null, 1],
          },
        },
      },
    ],
  });
});

test("keeps a function whose name starts with that of another", () => {
  const chosen = { controllers: ["node-lifecycle"], sessionRoles: true };
  const { functions, resources } = leaveOut(chosen, FUNCTIONS, RESOURCES);
  expect(Object.keys(functions)).toEqual(["node-lifecycle", "sweep", "ec2-events"]);
  expect(JSON.stringify(resources)).toContain("function:a-node-lifecycle");
  expect(JSON.stringify(resources)).not.toContain('function:a-node"');
});

const SESSIONS = {
  functions: {
    route: {
      name: "a-route",
      role: "RouteFunctionRole",
      environment: { SESSION_ROLE_ARN: { "Fn::GetAtt": ["RouteSessionRole", "Arn"] }, MORE: "1" },
    },
  },
  resources: { RouteFunctionRole: {}, RouteSessionRole: {}, RouteSessionPolicy: {} },
};

test.each([
  [true, ["route"], ["RouteFunctionRole", "RouteSessionRole", "RouteSessionPolicy"]],
  [false, ["route"], ["RouteFunctionRole"]],
  [true, [], []],
])("with session roles %s and the controllers %j the roles are %j", (sessionRoles, controllers, roles) => {
  const left = leaveOut({ controllers, sessionRoles }, SESSIONS.functions, SESSIONS.resources);
  expect(Object.keys(left.resources as object)).toEqual(roles);
  const named = Object.values(left.functions).flatMap(({ environment }) => Object.keys(environment ?? {}));
  expect(named).toEqual(controllers.flatMap(() => (sessionRoles ? ["SESSION_ROLE_ARN", "MORE"] : ["MORE"])));
});

test("can omit every function of a controller", () => {
  expect(selectOptionalFunctions(Object.keys(FUNCTIONS))).toEqual(["node", "node-lifecycle"]);
});

test("deploys a function with a URL only if it is selected", () => {
  const functions = ["node", "sweep", "admission", "audit", "ec2-events"];
  expect(selectOptionalFunctions(functions)).toEqual(["node", "admission", "audit"]);
  expect(selectDefaultFunctions(functions)).toEqual(["node"]);
});

test("removes the extension of a function's resource with the function", () => {
  const extensions = {
    NodeLambdaFunction: { Properties: {} },
    NodeDashlifecycleLambdaFunction: { Properties: {} },
    Ec2DasheventsLambdaFunction: { Properties: {} },
  };
  expect(
    leaveOut({ controllers: ["node"], sessionRoles: true }, FUNCTIONS, [{ extensions }]).resources,
  ).toEqual([{ extensions: { NodeLambdaFunction: { Properties: {} } } }]);
});

test("removes the outputs of a removed function or role", () => {
  const output = (name: string, attribute = "Arn") => ({ Value: { "Fn::GetAtt": [name, attribute] } });
  const outputs = {
    Prefix: { Value: "a-" },
    NodeArn: output("NodeLambdaFunction"),
    NodeRoleArn: output("nodeRole"),
    LifecycleArn: output("NodeDashlifecycleLambdaFunction"),
    LifecycleRoleArn: output("node-lifecycleRole"),
    Queue: { Value: { Ref: "FailuresQueue" } },
  };
  const { Prefix, NodeArn, NodeRoleArn, Queue } = outputs;
  expect(
    leaveOut({ controllers: ["node"], sessionRoles: true }, FUNCTIONS, { Outputs: outputs }).resources,
  ).toEqual({ Outputs: { Prefix, NodeArn, NodeRoleArn, Queue } });
});
