import {
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  CreateTagsCommand,
  DeleteRouteCommand,
  DeleteTagsCommand,
  DescribeRouteTablesCommand,
  ReplaceRouteCommand,
  RunInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { RIGHTS } from "#core/rights.ts";
import { CONTROL_PLANE_USERS, type ControlPlane } from "#emulators/harness/control-plane.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import { describeRight } from "#test/e2e/granted-rights.ts";
import { createDelayedStop } from "#test/functions/delayed-stop.ts";
import {
  type Invocation,
  type RoutesUnderTest,
  startRoutes,
} from "#test/functions/routes/routes-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import { WAIT } from "#test/wait-until-true.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const ROUTED = "False RouteCreated";
const UNROUTED = "True NoRouteCreated";

/** The node-route-controller on AWS and on one API server, as the identity that it is deployed with. */
export function describeRoutes(
  title: string,
  start: (folder: string) => Promise<ControlPlane>,
  program: MotoProgram,
): void {
  describe(`routes to the pods of nodes on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let under: RoutesUnderTest;

    beforeAll(async () => {
      cluster = await startCluster(start);
      under = await startRoutes(cluster, program);
    });
    afterAll(async () => {
      await under?.close();
      await cluster?.close();
    });
    afterEach(() => under.reset());

    const outcome = async (...how: Parameters<RoutesUnderTest["invoke"]>) =>
      (await under.invoke(...how)).report?.objects[0];
    const changesOf = (): readonly string[] =>
      under.moto.calls().flatMap(({ name }) => (/:(Create|Replace|Delete|Modify)/.test(name) ? [name] : []));

    test("are made in each table, in both families, and then cost one call while nothing changes", async () => {
      const other = await under.secondTable();
      const a = await under.join("a", ["100.64.0.0/24", "fd00:10::/64"]);
      const b = await under.join("b", ["100.64.1.0/24"]);
      await under.join("without-network", []);
      expect(await outcome()).toMatchObject({ outcome: "changed", name: "kube-system" });
      const expected = [`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${b}`, `fd00:10::/64 ${a}`];
      expect([await under.routes(), await under.routes(other)]).toEqual([expected, expected]);
      expect([await under.forwards(a), await under.forwards(b)]).toEqual([true, true]);
      const conditions = ["a", "b", "without-network"].map((name) => under.condition(name));
      expect(await Promise.all(conditions)).toEqual([ROUTED, ROUTED, undefined]);
      under.moto.forgetCalls();
      expect(await outcome()).toMatchObject({ outcome: "unchanged" });
      expect(under.moto.counts()).toEqual({ "ec2:DescribeRouteTables": 1 });
    });

    test("leave the check of addresses alone where it is off, and everything else where it is", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      await outcome();
      await under.aws.ec2.send(
        new DeleteRouteCommand({
          RouteTableId: under.network.routeTable,
          DestinationCidrBlock: "100.64.0.0/24",
        }),
      );
      under.moto.forgetCalls();
      await outcome();
      expect(changesOf()).toEqual(["ec2:CreateRoute"]);
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`]);
    });

    test("lead to the primary interface of an instance that has several", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const { NetworkInterface } = await under.aws.ec2.send(
        new CreateNetworkInterfaceCommand({ SubnetId: under.network.subnets[0] }),
      );
      await under.aws.ec2.send(
        new AttachNetworkInterfaceCommand({
          InstanceId: a,
          NetworkInterfaceId: NetworkInterface?.NetworkInterfaceId,
          DeviceIndex: 1,
        }),
      );
      under.moto.forgetCalls();
      expect(await outcome()).toMatchObject({ outcome: "changed" });
      expect(changesOf()).toEqual(["ec2:ModifyNetworkInterfaceAttribute", "ec2:CreateRoute"]);
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`]);
      expect(await under.forwards(a)).toBe(true);
      expect(await outcome()).toMatchObject({ outcome: "unchanged" });
    });

    test("go with their node and move with its machine; one of a stopped machine waits for it", async () => {
      const [a, b] = [await under.join("a", ["100.64.0.0/24"]), await under.join("b", ["100.64.1.0/24"])];
      await under.join("c", ["100.64.2.0/24"]);
      await outcome();
      await under.aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [b] }));
      await under.removeNode("b");
      const next = await under.join("b", ["100.64.1.0/24"]);
      await under.removeNode("c");
      await under.aws.ec2.send(new StopInstancesCommand({ InstanceIds: [a] }));
      under.moto.forgetCalls();
      await outcomeAfter(15);
      expect(await under.routes()).toEqual(["100.64.0.0/24 blackhole", `100.64.1.0/24 ${next}`]);
      expect(changesOf().toSorted()).toEqual([
        "ec2:DeleteRoute",
        "ec2:ModifyInstanceAttribute",
        "ec2:ReplaceRoute",
      ]);
      await under.aws.ec2.send(new StartInstancesCommand({ InstanceIds: [a] }));
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${next}`]);
      expect([await under.condition("a"), await under.condition("b")]).toEqual([ROUTED, ROUTED]);
    });

    /** Invokes twice as a relay does: with what the first report would have deleted, found so many seconds ago. */
    const outcomeAfter = async (seconds: number, how: Invocation = {}) => {
      const candidates = (await outcome(how))?.candidates ?? [];
      return outcome({ ...how, candidates: candidates.map((id) => ({ id, seconds })) });
    };

    test("a live node's route survives another actor's older list of nodes", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const older = await under.listNodes();
      const b = await under.join("b", ["100.64.1.0/24"]);
      await outcome();
      const report = await outcomeAfter(60, { nodes: older });
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${b}`]);
      expect(report).toMatchObject({ outcome: "retry", because: { code: "NodesIncomplete" } });
    });

    test("a live node's route survives an older list that has as many nodes as there are", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      await under.join("b", ["100.64.1.0/24"]);
      const older = await under.listNodes();
      await under.removeNode("b");
      const c = await under.join("c", ["100.64.2.0/24"]);
      await outcome();
      await outcomeAfter(60, { nodes: older });
      expect(await under.routes()).toEqual(
        expect.arrayContaining([`100.64.0.0/24 ${a}`, `100.64.2.0/24 ${c}`]),
      );
    });

    test("an older list does not turn a live node's route to a former node's instance", async () => {
      await under.join("a", ["100.64.0.0/24"]);
      await under.join("b", ["100.64.1.0/24"]);
      const older = await under.listNodes();
      await under.removeNode("b");
      const c = await under.join("c", ["100.64.1.0/24"]);
      await outcome();
      expect(await under.routes()).toContain(`100.64.1.0/24 ${c}`);
      await outcomeAfter(60, { nodes: older });
      expect(await under.routes()).toContain(`100.64.1.0/24 ${c}`);
    });

    test.each([
      ["lives", false],
      ["is terminated", true],
    ])(
      "a stale route whose instance %s is deleted 15 s after its first observation, and not before",
      async (_, isGone) => {
        const a = await under.join("a", ["100.64.0.0/24"]);
        const b = await under.join("b", ["100.64.1.0/24"]);
        await outcome();
        await under.removeNode("b");
        if (isGone) await under.aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [b] }));
        const kept = [`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${isGone ? "blackhole" : b}`];
        expect(await outcome()).toMatchObject({
          outcome: "retry",
          because: { code: "StaleRoutes" },
          afterSeconds: 15,
        });
        expect(await outcomeAfter(14)).toMatchObject({ outcome: "retry", afterSeconds: 1 });
        expect(await under.routes()).toEqual(kept);
        // A look follows at once, and restores what a node needs.
        expect(await outcomeAfter(15)).toMatchObject({
          outcome: "retry",
          because: { code: "RoutesDeleted" },
          afterSeconds: 1,
        });
        expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`]);
        expect(await outcome()).toMatchObject({ outcome: "unchanged" });
      },
    );

    test("a stale route that leads to a successor by the time of its deletion stays", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const b = await under.join("b", ["100.64.1.0/24"]);
      await outcome();
      await under.removeNode("b");
      await under.aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [b] }));
      const [successor = ""] = await under.network.launch(1);
      const candidates = (await outcome())?.candidates ?? [];
      let isReplaced = false;
      const report = await outcome({
        candidates: candidates.map((id) => ({ id, seconds: 20 })),
        async onStep(step) {
          // After the observation another actor gives the network to its next node.
          if (isReplaced || step < 2) return;
          isReplaced = true;
          await under.aws.ec2.send(
            new ReplaceRouteCommand({
              RouteTableId: under.network.routeTable,
              DestinationCidrBlock: "100.64.1.0/24",
              InstanceId: successor,
            }),
          );
        },
      });
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${successor}`]);
      expect(report).toMatchObject({ outcome: "retry", because: { code: "Conflict" } });
    });

    test("an API server that lists fewer nodes than it counts loses no route", async () => {
      await under.join("a", ["100.64.0.0/24"]);
      await under.join("b", ["100.64.1.0/24"]);
      await outcome();
      const [first] = await under.listNodes();
      const routes = await under.routes();
      expect(await outcomeAfter(60, { nodes: [first] })).toMatchObject({
        because: { code: "NodesIncomplete" },
      });
      expect(await under.routes()).toEqual(routes);
    });

    test("an API server that lies consistently loses the routes of its own cluster alone", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      await under.join("b", ["100.64.1.0/24"]);
      await outcome();
      const [others = ""] = await under.network.launch(1);
      const Tags = [{ Key: "kubernetes.io/cluster/tenant-a" }];
      await under.aws.ec2.send(new DeleteTagsCommand({ Resources: [others], Tags }));
      await under.addRoute({ DestinationCidrBlock: "100.64.8.0/24", InstanceId: others });
      const [first] = await under.listNodes();
      const body = JSON.stringify({ metadata: { resourceVersion: "1" }, items: [first] });
      await outcomeAfter(60, {
        nodes: [first],
        lie: ({ path }) => (path.startsWith("/api/v1/nodes?") ? body : undefined),
      });
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.8.0/24 ${others}`]);
    });

    test("two actors with lists of different age at once keep every live node's route", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const b = await under.join("b", ["100.64.1.0/24"]);
      const older = await under.listNodes();
      await outcome();
      await under.removeNode("b");
      await under.aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [b] }));
      const c = await under.join("c", ["100.64.2.0/24"]);
      await outcome();
      for (let round = 0; round < 3; round += 1)
        await Promise.all([outcomeAfter(60, { nodes: older }), outcomeAfter(60)]);
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.2.0/24 ${c}`]);
    });

    test("that are not the cluster's stop nothing, and stay as they are", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const { Instances = [] } = await under.aws.ec2.send(
        new RunInstancesCommand({
          ImageId: IMAGE_ID,
          MinCount: 2,
          MaxCount: 2,
          SubnetId: under.network.subnets[0],
        }),
      );
      const [untagged = "", others = ""] = Instances.map(({ InstanceId }) => InstanceId);
      const Tags = [{ Key: "kubernetes.io/cluster/other", Value: "owned" }];
      await under.aws.ec2.send(new CreateTagsCommand({ Resources: [others], Tags }));
      const { RouteTables } = await under.aws.ec2.send(
        new DescribeRouteTablesCommand({ RouteTableIds: [under.network.routeTable] }),
      );
      const gateway = RouteTables?.[0]?.Routes?.find(({ GatewayId }) =>
        GatewayId?.startsWith("igw-"),
      )?.GatewayId;
      await under.addRoute({ DestinationCidrBlock: "100.64.7.0/24", InstanceId: untagged });
      await under.addRoute({ DestinationCidrBlock: "100.64.8.0/24", InstanceId: others });
      await under.addRoute({ DestinationCidrBlock: "100.64.9.0/24", GatewayId: gateway });
      await under.join("occupied", ["100.64.9.0/24"]);
      const before = await under.routes();
      expect(await outcome()).toMatchObject({ outcome: "retry", because: { code: "RouteOccupied" } });
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, ...before].toSorted());
      expect([await under.condition("a"), await under.condition("occupied")]).toEqual([ROUTED, UNROUTED]);
      await vi.waitFor(
        async () =>
          expect(await under.events("occupied")).toEqual([
            expect.stringMatching(
              /^FailedToCreateRoute: Could not create a route to 100\.64\.9\.0\/24 for node occupied: /,
            ),
          ]),
        WAIT,
      );
      // A stopped machine of another cluster leads nowhere, and still belongs to that cluster.
      await under.aws.ec2.send(new StopInstancesCommand({ InstanceIds: [others] }));
      await outcome();
      expect(await under.routes()).toContain("100.64.8.0/24 blackhole");
    });

    test.each<[string, string, readonly string[]]>([
      ["names an instance of another cluster", "foreign", ["100.64.1.0/24"]],
      ["names an instance that is not there", "aws:///eu-central-1a/i-0123456789abcdef0", ["100.64.1.0/24"]],
      ["names another cloud's instance", "gce://a/b/c", ["100.64.1.0/24"]],
    ])("are not made for a node that %s; other nodes do not notice", async (_, providerID, podCIDRs) => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const [foreign = ""] = await under.network.launch(1);
      const key = "kubernetes.io/cluster/tenant-a";
      await under.aws.ec2.send(new DeleteTagsCommand({ Resources: [foreign], Tags: [{ Key: key }] }));
      await under.join("b", podCIDRs, providerID === "foreign" ? `aws:///a/${foreign}` : providerID);
      expect(await outcome()).toMatchObject({ outcome: "retry", because: { code: "InstanceNotFound" } });
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`]);
      expect(await under.forwards(foreign)).toBe(false);
      expect([await under.condition("a"), await under.condition("b")]).toEqual([ROUTED, UNROUTED]);
    });

    test.each([
      ["from the start", 0],
      ["right before the cloud is called", 1],
    ])(
      "stay when their node goes while deletes are stopped %s; others are made, and they go after that",
      async (_, looks) => {
        const a = await under.join("a", ["100.64.0.0/24"]);
        const b = await under.join("b", ["100.64.1.0/24"]);
        await outcome();
        await under.removeNode("b");
        const candidates = [{ id: `${under.network.routeTable} 100.64.1.0/24 ${b}`, seconds: 15 }];
        const c = await under.join("c", ["100.64.2.0/24"]);
        under.moto.forgetCalls();
        await outcome({ readStop: createDelayedStop(looks, "deletes"), candidates });
        expect(changesOf().filter((name) => name === "ec2:DeleteRoute")).toEqual([]);
        expect(await under.routes()).toEqual([
          `100.64.0.0/24 ${a}`,
          `100.64.1.0/24 ${b}`,
          `100.64.2.0/24 ${c}`,
        ]);
        await outcome({ candidates });
        expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.2.0/24 ${c}`]);
      },
    );

    test("are not deleted where no node is seen any more", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      await outcome();
      under.moto.forgetCalls();
      expect(await outcome({ nodes: [] })).toMatchObject({
        outcome: "skipped",
        because: { code: "DeletionUnproven" },
      });
      expect(changesOf()).toEqual([]);
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`]);
    });

    test("beyond the quota wait, and one Event has their number; the others exist", async () => {
      for (let index = 0; index < 4; index += 1) await under.join(`n${index}`, [`100.64.${index}.0/24`]);
      under.moto.limitRoutes(3);
      const report = await outcome();
      expect(report).toMatchObject({
        outcome: "retry",
        because: { code: "RouteLimitExceeded" },
        afterSeconds: 300,
      });
      expect(report?.because.message).toMatch(/^2 × route table rtb-\w+ has 5 routes and takes no more/);
      expect(await under.routes()).toHaveLength(2);
      const names = ["n0", "n1", "n2", "n3"];
      const told = (await Promise.all(names.map((name) => under.events(name)))).flat();
      expect(told).toEqual([expect.stringContaining("It has them of 2 nodes of this cluster")]);
      const conditions = await Promise.all(names.map((name) => under.condition(name)));
      expect(conditions.toSorted()).toEqual([ROUTED, ROUTED, UNROUTED, UNROUTED]);
      under.moto.limitRoutes(50);
      await outcome();
      expect(await under.routes()).toHaveLength(4);
    });

    test.each<[string, object, RegExp]>([
      ["none is tagged", { clusterTag: "someone" }, /no route table carries the tag/],
      [
        "one that is configured is not there",
        { routeTableIDs: ["rtb-0123456789abcdef0"] },
        /there is no route table/,
      ],
    ])("are not created if of route tables %s", async (_, cloud, words) => {
      await under.join("a", ["100.64.0.0/24"]);
      under.configure(cloud);
      under.moto.forgetCalls();
      const report = await outcome();
      expect(report).toMatchObject({ outcome: "retry", because: { code: "RouteTableMissing" } });
      expect(report?.because.message).toMatch(words);
      expect([changesOf(), await under.condition("a")]).toEqual([[], undefined]);
      expect(await under.events("a")).toEqual([expect.stringContaining("has no route table at present")]);
    });

    test("are made in the tables that are configured, tagged or not", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      const other = await under.secondTable();
      under.configure({ routeTableIDs: [other] });
      await outcome();
      expect([await under.routes(), await under.routes(other)]).toEqual([[], [`100.64.0.0/24 ${a}`]]);
    });

    test("keep the conditions of other writers, and add no second one of a type", async () => {
      await under.join("a", ["100.64.0.0/24"]);
      const network = {
        type: "NetworkUnavailable",
        status: "True",
        reason: "Cni",
        message: "",
        lastHeartbeatTime: null,
        lastTransitionTime: null,
      };
      let isWritten = false;
      const late = await outcome({
        async onStep(step) {
          if (isWritten || step < 4) return;
          isWritten = true;
          await cluster.patch("a/status", [{ op: "add", path: "/status/conditions/-", value: network }]);
        },
      });
      expect(late).toMatchObject({ outcome: "retry", because: { code: "Conflict" } });
      expect(await under.condition("a")).toBe("True Cni");
      await outcome();
      expect(await under.condition("a")).toBe(ROUTED);
      expect((await under.node("a")).status.conditions?.map(({ type }) => type)).toEqual([
        "Ready",
        "NetworkUnavailable",
      ]);
    });

    test("reach the same state wherever the process was killed", async () => {
      const setUp = async () => {
        const [a, b] = [await under.join("a", ["100.64.0.0/24"]), await under.join("b", ["100.64.1.0/24"])];
        const [gone = ""] = await under.network.launch(1);
        await under.addRoute({ DestinationCidrBlock: "100.64.1.0/24", InstanceId: gone });
        await under.addRoute({ DestinationCidrBlock: "100.64.2.0/24", InstanceId: gone });
        const candidates = [{ id: `${under.network.routeTable} 100.64.2.0/24 ${gone}`, seconds: 20 }];
        return { expected: [`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${b}`], candidates };
      };
      const { candidates: first } = await setUp();
      const whole = await under.invoke({ candidates: first });
      expect(whole.steps).toBeGreaterThan(10);
      for (let steps = 0; steps < whole.steps; steps += 1) {
        await under.reset();
        const { expected, candidates } = await setUp();
        await under.invoke({ steps, candidates });
        await vi.waitFor(async () => expect((await outcomeAfter(20))?.outcome).toBe("unchanged"), WAIT);
        expect([steps, await under.routes()]).toEqual([steps, expected]);
        expect([await under.condition("a"), await under.condition("b")]).toEqual([ROUTED, ROUTED]);
      }
    }, 120_000);

    test("reach the same state if two processes create them at once", async () => {
      const [a, b] = [await under.join("a", ["100.64.0.0/24"]), await under.join("b", ["100.64.1.0/24"])];
      await Promise.all([under.invoke(), under.invoke()]);
      await vi.waitFor(async () => expect((await outcome())?.outcome).toBe("unchanged"), WAIT);
      expect(await under.routes()).toEqual([`100.64.0.0/24 ${a}`, `100.64.1.0/24 ${b}`]);
      expect([await under.condition("a"), await under.condition("b")]).toEqual([ROUTED, ROUTED]);
    });

    test("are made although the cloud throttles, loses an answer and fails", async () => {
      const a = await under.join("a", ["100.64.0.0/24"]);
      // What is throttled is sent once more.
      under.moto.failures.plan({ operation: "ec2:CreateRoute", count: 2, failure: { kind: "throttle" } });
      expect(await outcome()).toMatchObject({
        outcome: "retry",
        because: { code: "Throttled" },
        afterSeconds: 3,
      });
      under.moto.failures.plan({ operation: "ec2:CreateRoute", failure: { kind: "lose-answer" } });
      expect(await outcome()).toMatchObject({ outcome: "retry", because: { code: "Unavailable" } });
      expect(await outcome()).toMatchObject({ outcome: "changed" });
      expect([await under.routes(), await under.condition("a")]).toEqual([[`100.64.0.0/24 ${a}`], ROUTED]);
    });

    test("take exactly the rights that are granted for them", async () => {
      await under.join("a", ["10.9.0.0/24"]);
      await under.join("b", ["100.64.0.0/24"]);
      await under.join("c", ["100.64.1.0/24"]);
      await outcome();
      await under.removeNode("c");
      await outcomeAfter(15);
      const used = listUsedRights(await cluster.plane.record(), CONTROL_PLANE_USERS.route.name);
      expect(used).toEqual(RIGHTS.route.map(describeRight).toSorted());
    });
  });
}
