import { expect, test } from "vitest";
import { choosableOf, defaultOf, leaveOut } from "../../../build/deployment/leave-out.ts";

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

test("without a controller its function goes, whoever only works for it, and every mention of them", () => {
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

test("a function whose name only begins as that of another stays", () => {
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
])(
  "with session roles %s and the controllers %j there are the roles %j",
  (sessionRoles, controllers, roles) => {
    const left = leaveOut({ controllers, sessionRoles }, SESSIONS.functions, SESSIONS.resources);
    expect(Object.keys(left.resources as object)).toEqual(roles);
    const named = Object.values(left.functions).flatMap(({ environment }) => Object.keys(environment ?? {}));
    expect(named).toEqual(
      controllers.flatMap(() => (sessionRoles ? ["SESSION_ROLE_ARN", "MORE"] : ["MORE"])),
    );
  },
);

test("all that have a controller can be left out", () => {
  expect(choosableOf(Object.keys(FUNCTIONS))).toEqual(["node", "node-lifecycle"]);
});

test("what has a URL can be chosen, and is not there unless it is", () => {
  const functions = ["node", "sweep", "admission", "ec2-events"];
  expect(choosableOf(functions)).toEqual(["node", "admission"]);
  expect(defaultOf(functions)).toEqual(["node"]);
});

test("what a function's resource is extended by goes with the function", () => {
  const extensions = {
    NodeLambdaFunction: { Properties: {} },
    NodeDashlifecycleLambdaFunction: { Properties: {} },
    Ec2DasheventsLambdaFunction: { Properties: {} },
  };
  expect(
    leaveOut({ controllers: ["node"], sessionRoles: true }, FUNCTIONS, [{ extensions }]).resources,
  ).toEqual([{ extensions: { NodeLambdaFunction: { Properties: {} } } }]);
});

test("outputs of a function, or of a role, that is left out go with it", () => {
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
