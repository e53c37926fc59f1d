import type { Instance, Route, RouteTable } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import type { Api } from "#clouds/aws/actions/api.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { createRoutes } from "#clouds/aws/routes/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { RouteQuestion, RouteState } from "#core/route/state.ts";
import { checkCall, expectViolations } from "#test/aws-models/aws-calls.ts";
import { createAwsError, Ec2World } from "#test/clouds/aws/ec2-world.ts";

const VPC = "vpc-1";
const OURS = [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }];
const LOCAL = { DestinationCidrBlock: "10.0.0.0/16", GatewayId: "local", State: "active" } as const;

const idOf = (index: number): string => `i-${index.toString(16).padStart(17, "0")}`;
const cidrOf = (index: number): string => `100.64.${index >> 8}.${index & 255}/32`;
const routeTo = (index: number, difference: Partial<Route> = {}): Route => ({
  DestinationCidrBlock: cidrOf(index),
  InstanceId: idOf(index),
  InstanceOwnerId: "123456789012",
  NetworkInterfaceId: `eni-${index}`,
  Origin: "CreateRoute",
  State: "active",
  ...difference,
});
const instance = (index: number, difference: Partial<Instance> = {}): Instance => ({
  InstanceId: idOf(index),
  VpcId: VPC,
  Tags: OURS,
  State: { Name: "running" },
  SourceDestCheck: true,
  ...difference,
});
const table = (id: string, Routes: Route[], difference: Partial<RouteTable> = {}): RouteTable => ({
  RouteTableId: id,
  VpcId: VPC,
  Tags: OURS,
  Routes: [LOCAL, ...Routes],
  ...difference,
});
const question = (count: number): RouteQuestion => ({
  clusterCIDRs: ["100.64.0.0/10", "fd00:10::/48"],
  nodes: Array.from({ length: count }, (_, index) => ({
    name: `n${index}`,
    providerID: `aws:///eu-central-1a/${idOf(index)}`,
    cidrs: [cidrOf(index)],
  })),
});

/** A capability on tables and instances in memory; `pages` returns route tables by request. */
function world(
  pages: readonly (readonly RouteTable[])[],
  instances: readonly Instance[] = [],
  config: object = {},
) {
  const ec2 = new Ec2World();
  ec2.instances.push(...instances);
  const sent: { readonly operation: string; readonly request: object }[] = [];
  const failures: Error[] = [];
  let isClosed = false;
  let nowMs = 0;
  const clock = { ms: 0 };
  const api: Api = {
    async call(operation, request) {
      sent.push({ operation, request });
      checkCall(operation, "request", request);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      if (operation !== "ec2:DescribeRouteTables") return { $metadata: { requestId: "id-1" } };
      const page = Number((request as { readonly NextToken?: string }).NextToken ?? 0);
      const next = page + 1 < pages.length ? { NextToken: String(page + 1) } : {};
      const answer = { RouteTables: pages[page], ...next };
      checkCall(operation, "answer", answer);
      return answer;
    },
    close() {
      isClosed = true;
    },
  };
  const cluster = {
    ...AwsCloudConfig.parse({
      provider: "aws",
      region: "eu-central-1",
      vpc: VPC,
      clusterTag: "demo",
      ...config,
    }),
    clusterName: "demo",
  };
  const routes = createRoutes(
    {
      cluster,
      budget: createBudget(() => nowMs),
      sleep: async (delayMs) => {
        nowMs += delayMs;
      },
      now: () => clock.ms,
      wallClock: () => 0,
      credentials: () => undefined,
    },
    ec2,
    api,
  );
  const call = { signal: new AbortController().signal, share: 1 };
  const observe = async (asked: unknown) => (await routes.observe([asked], call)).answers[0];
  const stateOf = async (asked: RouteQuestion): Promise<RouteState> => {
    const answer = await observe(asked);
    if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
    return answer.state as RouteState;
  };
  const act = (action: string, parameters: Record<string, unknown>) =>
    routes.act(
      {
        on: "cloud",
        capability: "routes",
        action,
        target: "t",
        parameters,
        precondition: { uid: "u", deleting: false },
      } satisfies CloudAction,
      call,
    );
  return { routes, ec2, sent, failures, call, observe, stateOf, act, clock, isClosed: () => isClosed };
}

describe("an observation of routes", () => {
  test("of 500 nodes with their routes takes one call", async () => {
    const { routes, ec2, call } = world([
      [
        table(
          "rtb-1",
          Array.from({ length: 500 }, (_, index) => routeTo(index)),
        ),
      ],
    ]);
    const { answers, usage } = await routes.observe([question(500)], call);
    expect(usage.calls).toEqual({ DescribeRouteTables: 1 });
    expect(ec2.requests).toEqual([]);
    expect(answers[0]).toMatchObject({
      kind: "observed",
      state: {
        tables: [{ size: 501, networks: ["10.0.0.0/16"] }],
        machines: { n7: { kind: "named", id: idOf(7) } },
      },
    });
  });

  test("does not take a route for the cluster's because a second node names its instance", async () => {
    const theirs = instance(1, { Tags: [{ Key: "kubernetes.io/cluster/other", Value: "owned" }] });
    const { stateOf } = world(
      [[table("rtb-1", [routeTo(0)]), table("rtb-2", [routeTo(0, { InstanceId: idOf(1) })])]],
      [instance(0), theirs],
    );
    const [own, forged] = question(2).nodes;
    if (own === undefined || forged === undefined) throw new Error("two nodes are asked about");
    const nodes = [own, { ...forged, cidrs: own.cidrs }];
    expect(await stateOf({ ...question(0), nodes })).toMatchObject({
      tables: [
        { routes: [{ target: { kind: "machine", id: idOf(0) } }] },
        { routes: [{ target: { kind: "foreign" } }] },
      ],
    });
  });

  test("does not count an instance as gone if EC2's answer is cut short", async () => {
    const { stateOf, ec2 } = world([[table("rtb-1", [routeTo(7, { State: "blackhole" })])]]);
    ec2.rubbish = { Reservations: [], NextToken: "more" };
    expect(await stateOf(question(1))).toMatchObject({
      tables: [{ routes: [{ target: { kind: "unknown", because: { code: "Unavailable" } } }] }],
      machines: { n0: { kind: "unknown", because: { code: "Unavailable" } } },
    });
  });

  test("of 500 nodes reads only the instances that need work", async () => {
    const there = Array.from({ length: 498 }, (_, index) => routeTo(index));
    const { stateOf, ec2 } = world(
      [[table("rtb-1", there)]],
      [instance(498), instance(499, { SourceDestCheck: false })],
    );
    const state = await stateOf(question(500));
    expect(ec2.count("DescribeInstances")).toBe(1);
    expect(state).toMatchObject({
      machines: {
        n0: { kind: "named" },
        n498: { kind: "ready", forwards: false, running: true, target: { instance: idOf(498) } },
        n499: { kind: "ready", forwards: true },
      },
    });
  });

  test("reads all pages of tables, in which each family counts", async () => {
    const ipv6: Route = {
      DestinationIpv6CidrBlock: "FD00:10:0:7::/64",
      InstanceId: idOf(0),
      State: "active",
    };
    const { stateOf, sent } = world([[table("rtb-1", [routeTo(0)])], [table("rtb-2", [ipv6])]]);
    const state = await stateOf({
      ...question(0),
      nodes: [{ name: "n0", providerID: `aws:///a/${idOf(0)}`, cidrs: [cidrOf(0), "fd00:10:0:7::/64"] }],
    });
    expect(
      state.kind === "tables" &&
        state.tables.map(({ id, routes }) => [id, routes.map(({ cidr, text }) => [cidr, text])]),
    ).toEqual([
      ["rtb-1", [[cidrOf(0), undefined]]],
      ["rtb-2", [["fd00:10:0:7::/64", "FD00:10:0:7::/64"]]],
    ]);
    expect(sent.map(({ request }) => request)).toMatchObject([
      {
        Filters: [
          { Name: "vpc-id" },
          { Name: "tag-key", Values: ["kubernetes.io/cluster/demo", "KubernetesCluster"] },
        ],
        MaxResults: 100,
      },
      { NextToken: "1" },
    ]);
  });

  test.each<[string, Partial<Route>, readonly Instance[], object]>([
    ["an instance of the cluster without a node", {}, [instance(9)], { kind: "machine", id: idOf(9) }],
    [
      "an instance of another cluster",
      {},
      [instance(9, { Tags: [{ Key: "kubernetes.io/cluster/other", Value: "" }] })],
      { kind: "foreign" },
    ],
    ["an instance without a cluster's tag", {}, [instance(9, { Tags: [] })], { kind: "foreign" }],
    ["an instance of another VPC", {}, [instance(9, { VpcId: "vpc-2" })], { kind: "foreign" }],
    [
      "a terminated instance without an owner",
      {},
      [{ InstanceId: idOf(9), State: { Name: "terminated" } }],
      { kind: "gone" },
    ],
    [
      "a terminated instance of the cluster",
      { State: "blackhole" },
      [{ ...instance(9), VpcId: undefined, State: { Name: "terminated" } } as Instance],
      { kind: "gone" },
    ],
    [
      "a terminated instance of another cluster",
      { State: "blackhole" },
      [
        {
          InstanceId: idOf(9),
          State: { Name: "terminated" },
          Tags: [{ Key: "kubernetes.io/cluster/other", Value: "" }],
        },
      ],
      { kind: "foreign" },
    ],
    ["an instance that EC2 does not return, as a blackhole", { State: "blackhole" }, [], { kind: "gone" }],
    ["an instance that EC2 does not return, as an active route", {}, [], { kind: "foreign" }],
    [
      "an interface without an instance, as an active route",
      { InstanceId: undefined as never },
      [],
      { kind: "foreign" },
    ],
    [
      "a missing interface, as a blackhole",
      { InstanceId: undefined as never, State: "blackhole" },
      [],
      { kind: "gone" },
    ],
    [
      "no target, as a blackhole",
      { InstanceId: undefined as never, NetworkInterfaceId: undefined as never, State: "blackhole" },
      [],
      { kind: "gone" },
    ],
    [
      "no target, as an active route",
      { InstanceId: undefined as never, NetworkInterfaceId: undefined as never },
      [],
      { kind: "foreign" },
    ],
    ["a deleted peering", { VpcPeeringConnectionId: "pcx-1", State: "blackhole" }, [], { kind: "foreign" }],
    ["a NAT gateway's interface", { NatGatewayId: "nat-1" }, [], { kind: "foreign" }],
    [
      "a propagated gateway route",
      { Origin: "EnableVgwRoutePropagation" },
      [instance(9)],
      { kind: "foreign" },
    ],
    [
      "an unknown kind of target",
      { QuantumTunnelId: "qt-1" } as Partial<Route>,
      [instance(9)],
      { kind: "foreign" },
    ],
  ])("reports a route to %s", async (_, difference, instances, target) => {
    if ("QuantumTunnelId" in difference)
      expectViolations("ec2:DescribeRouteTables answer RouteTables[].Routes[].QuantumTunnelId unknown");
    const { stateOf } = world([[table("rtb-1", [routeTo(9, difference)])]], instances);
    const state = await stateOf(question(1));
    expect(state.kind === "tables" && state.tables[0]?.routes).toMatchObject([{ cidr: cidrOf(9), target }]);
    const [found] = state.kind === "tables" ? (state.tables[0]?.routes ?? []) : [];
    if (target === undefined || (target as { kind: string }).kind !== "foreign")
      expect(found?.leadsTo).toBeDefined();
  });

  test("leaves out everything outside the cluster's networks, and prefix lists", async () => {
    const { stateOf } = world(
      [
        [
          table("rtb-1", [
            routeTo(0, { DestinationCidrBlock: "0.0.0.0/0" }),
            { DestinationPrefixListId: "pl-1", GatewayId: "vpce-1" },
          ]),
        ],
      ],
      [instance(0)],
    );
    expect(await stateOf(question(1))).toMatchObject({ tables: [{ size: 3, routes: [] }] });
  });

  test.each<[string, readonly RouteTable[], object, RegExp]>([
    ["no table has the tag", [], {}, /no route table carries the tag kubernetes\.io\/cluster\/demo/],
    [
      "all have another cluster's tag",
      [table("rtb-1", [], { Tags: [{ Key: "KubernetesCluster", Value: "other" }] })],
      {},
      /no route table carries/,
    ],
    [
      "the tables are in two VPCs",
      [table("rtb-1", []), table("rtb-2", [], { VpcId: "vpc-2" })],
      { vpc: undefined },
      /vpc-1, vpc-2/,
    ],
    [
      "a configured table is missing",
      [table("rtb-1", [])],
      { routeTableIDs: ["rtb-1", "rtb-2"] },
      /there is no route table rtb-2 in vpc-1/,
    ],
    [
      "a configured table is in another VPC",
      [table("rtb-1", [], { VpcId: "vpc-2" })],
      { routeTableIDs: ["rtb-1"] },
      /there is no route table rtb-1/,
    ],
  ])("says why there are no tables: %s", async (_, tables, config, message) => {
    const { stateOf, ec2 } = world([tables], [], config);
    expect(await stateOf(question(1))).toEqual({
      kind: "no-tables",
      message: expect.stringMatching(message),
    });
    expect(ec2.requests).toEqual([]);
  });

  test("takes configured tables with any tags", async () => {
    const { stateOf } = world([[table("rtb-1", [], { Tags: [] })]], [instance(0)], {
      routeTableIDs: ["rtb-1"],
    });
    expect(await stateOf(question(1))).toMatchObject({ tables: [{ id: "rtb-1" }] });
  });

  test("that fails is an error; instances that cannot be described are unknown", async () => {
    const { observe, failures, ec2, stateOf } = world([[table("rtb-1", [routeTo(9)])]]);
    failures.push(createAwsError("UnauthorizedOperation", 403));
    expect(await observe(question(1))).toMatchObject({ kind: "error", code: "Denied" });
    failures.push(createAwsError("RequestLimitExceeded", 503));
    expect(await observe(question(1))).toMatchObject({ kind: "error", code: "Throttled" });
    expect(await observe({ nodes: "all" })).toMatchObject({ kind: "error", code: "Invalid" });
    ec2.errors.set("DescribeInstances", createAwsError("RequestLimitExceeded", 503));
    expect(await stateOf(question(1))).toMatchObject({
      tables: [{ routes: [{ target: { kind: "unknown", because: { code: "Throttled" } } }] }],
      machines: { n0: { kind: "unknown", because: { code: "Throttled" } } },
    });
  });

  test("names nodes without an instance", async () => {
    const { stateOf } = world([[table("rtb-1", [])]], [instance(1, { State: { Name: "shutting-down" } })]);
    const nodes = [
      { name: "unnamed", cidrs: [cidrOf(0)] },
      { name: "elsewhere", providerID: "gce://a/b/c", cidrs: [cidrOf(2)] },
      { name: "ended", providerID: `aws:///a/${idOf(1)}`, cidrs: [cidrOf(1)] },
    ];
    expect(await stateOf({ ...question(0), nodes })).toMatchObject({
      machines: {
        unnamed: { kind: "unnamed" },
        elsewhere: { kind: "missing" },
        ended: { kind: "missing", message: expect.stringContaining("is shutting down or terminated") },
      },
    });
  });
});

describe("an action on routes", () => {
  const toInstance = { table: "rtb-1", cidr: "100.64.0.0/24", target: { instance: "i-1" } };
  const toInterface = { table: "rtb-1", cidr: "fd00:10::/64", target: { interface: "eni-1" } };

  test.each<[string, Record<string, unknown>, string, object]>([
    [
      "create",
      toInstance,
      "CreateRoute",
      { RouteTableId: "rtb-1", DestinationCidrBlock: "100.64.0.0/24", InstanceId: "i-1" },
    ],
    [
      "create",
      toInterface,
      "CreateRoute",
      { RouteTableId: "rtb-1", DestinationIpv6CidrBlock: "fd00:10::/64", NetworkInterfaceId: "eni-1" },
    ],
    [
      "replace",
      toInstance,
      "ReplaceRoute",
      { RouteTableId: "rtb-1", DestinationCidrBlock: "100.64.0.0/24", InstanceId: "i-1" },
    ],
    [
      "delete",
      { table: "rtb-1", cidr: "100.64.0.0/24" },
      "DeleteRoute",
      { RouteTableId: "rtb-1", DestinationCidrBlock: "100.64.0.0/24" },
    ],
    [
      "forward",
      { target: { instance: "i-1" } },
      "ModifyInstanceAttribute",
      { InstanceId: "i-1", SourceDestCheck: { Value: false } },
    ],
    [
      "forward",
      { target: { interface: "eni-1" } },
      "ModifyNetworkInterfaceAttribute",
      { NetworkInterfaceId: "eni-1", SourceDestCheck: { Value: false } },
    ],
  ])("%s %o is %s", async (action, parameters, operation, request) => {
    const { act, sent } = world([[]]);
    expect(await act(action, parameters)).toMatchObject({
      answer: { kind: "done" },
      usage: { calls: { [operation]: 1 } },
      requestId: "id-1",
    });
    expect(sent).toEqual([{ operation: `ec2:${operation}`, request }]);
  });

  describe("that replaces or deletes a route", () => {
    const expected = { table: "rtb-1", cidr: cidrOf(9), leadsTo: idOf(9) };
    const replacing = { ...expected, target: { instance: "i-1" } };
    const changes = (sent: readonly { readonly operation: string }[]) =>
      sent.map(({ operation }) => operation).filter((name) => name !== "ec2:DescribeRouteTables");

    test.each<[string, Record<string, unknown>, string]>([
      ["delete", expected, "DeleteRoute"],
      ["replace", replacing, "ReplaceRoute"],
    ])(
      "%s is sent if the route has its old target, right after a read",
      async (action, parameters, operation) => {
        const { act, sent } = world([[table("rtb-1", [routeTo(9)])]]);
        expect(await act(action, parameters)).toMatchObject({
          answer: { kind: "done" },
          usage: { calls: { DescribeRouteTables: 1, [operation]: 1 } },
        });
        expect(sent.map((each) => each.operation)).toEqual(["ec2:DescribeRouteTables", `ec2:${operation}`]);
      },
    );

    test.each<[string, readonly RouteTable[], object]>([
      [
        "leads to another instance now",
        [table("rtb-1", [routeTo(9, { InstanceId: idOf(7) })])],
        { kind: "conflict" },
      ],
      [
        "leads to a gateway now",
        [table("rtb-1", [{ DestinationCidrBlock: cidrOf(9), GatewayId: "igw-1", State: "active" }])],
        { kind: "conflict", message: expect.stringContaining("leads to something else now") },
      ],
      [
        "is in a table that no longer belongs to the cluster",
        [table("rtb-2", [routeTo(9)])],
        { kind: "conflict" },
      ],
      ["is missing because the cluster has no tables", [], { kind: "conflict" }],
    ])("is not sent if the route %s", async (_, tables, answer) => {
      for (const [action, parameters] of [
        ["delete", expected],
        ["replace", replacing],
      ] as const) {
        const { act, sent } = world([tables]);
        expect(await act(action, parameters)).toMatchObject({ answer });
        expect(changes(sent)).toEqual([]);
      }
    });

    test("has nothing to delete, and reports a conflict, if the route is gone", async () => {
      const { act, sent } = world([[table("rtb-1", [])]]);
      expect(await act("delete", expected)).toMatchObject({ answer: { kind: "done" } });
      expect(await act("replace", replacing)).toMatchObject({ answer: { kind: "conflict" } });
      expect(changes(sent)).toEqual([]);
    });

    test("is not sent if the tables cannot be described, and the next one reads for itself", async () => {
      const { act, sent, failures } = world([[table("rtb-1", [routeTo(9)])]]);
      failures.push(createAwsError("UnauthorizedOperation", 403));
      expect(await act("delete", expected)).toMatchObject({ answer: { kind: "error", code: "Denied" } });
      expect(changes(sent)).toEqual([]);
      expect(await act("delete", expected)).toMatchObject({ answer: { kind: "done" } });
    });

    test("shares its read with those that begin within a quarter of a second", async () => {
      const all = Array.from({ length: 8 }, (_, index) => routeTo(index));
      const { act, sent, clock } = world([[table("rtb-1", all)]]);
      const deletion = (index: number) =>
        act("delete", { table: "rtb-1", cidr: cidrOf(index), leadsTo: idOf(index) });
      await Promise.all([0, 1, 2, 3, 4, 5].map(deletion));
      clock.ms = 250;
      await deletion(6);
      const described = () => sent.filter(({ operation }) => operation === "ec2:DescribeRouteTables").length;
      expect(described()).toBe(1);
      clock.ms = 251;
      await deletion(7);
      expect([described(), changes(sent).length]).toEqual([2, 8]);
    });
  });

  test.each<[string, Record<string, unknown>]>([
    ["destroy", toInstance],
    ["create", { table: "rtb-1" }],
    ["toString", {}],
  ])("%s %o is not an action", async (action, parameters) => {
    const { act, sent } = world([[]]);
    expect(await act(action, parameters)).toMatchObject({ answer: { kind: "error", code: "Invalid" } });
    expect(sent).toEqual([]);
  });

  test.each([
    ["RouteAlreadyExists", { kind: "conflict" }],
    [
      "RouteLimitExceeded",
      { kind: "error", code: "Invalid", message: expect.stringContaining("RouteLimitExceeded") },
    ],
    ["UnauthorizedOperation", { kind: "error", code: "Denied" }],
    ["RequestLimitExceeded", { kind: "error", code: "Throttled" }],
  ])("that EC2 answers with %s", async (code, answer) => {
    const { act, failures } = world([[]]);
    // A throttled request is sent once more.
    failures.push(createAwsError(code, 400), createAwsError(code, 400));
    expect(await act("create", toInstance)).toMatchObject({ answer });
  });

  test("is sent once, and the connection is closed in the end", async () => {
    const { act, failures, sent, routes, isClosed } = world([[]]);
    failures.push(createAwsError("InternalError", 500));
    expect(await act("create", toInstance)).toMatchObject({ answer: { kind: "error", code: "Unavailable" } });
    expect(sent).toHaveLength(1);
    routes.close();
    expect(isClosed()).toBe(true);
  });
});
