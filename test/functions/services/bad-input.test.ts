import {
  AllocateAddressCommand,
  CreateSecurityGroupCommand,
  DeleteRouteCommand,
  ModifyInstanceAttributeCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeNetwork } from "#test/clouds/aws/moto/make-network.ts";
import { type AwsBatch, CLUSTER_TAG, startAwsBatch } from "#test/functions/services/aws-batch.ts";
import type { Stored } from "#test/functions/services/services-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";
const CERTIFICATE = "arn:aws:acm:eu-central-1:123456789012:certificate/absent";
const ABSENT = "eipalloc-0123456789abcdef0,eipalloc-0123456789abcdef1";

/** What is made for the table: ids that annotations name. */
interface Ids {
  readonly twin: string;
  readonly theirSubnet: string;
  readonly theirGroup: string;
  readonly theirAddress: string;
  readonly address: string;
}

interface Row {
  readonly what: string;
  readonly annotations?: (ids: Ids, subnets: readonly string[]) => Readonly<Record<string, string>>;
  readonly spec?: object;
  /** A classic one without it. */
  readonly isNetwork?: false;
  readonly pool?: string;
  /** AWS refuses this operation for it. */
  readonly refused?: readonly [operation: string, code: string];
  /** All of it is in the Warning. */
  readonly says: readonly string[];
  /** Served despite the fault. */
  readonly isServed?: true;
}

const TCP_UDP = [
  { name: "tcp", protocol: "TCP", port: 53 },
  { name: "udp", protocol: "UDP", port: 53 },
];

const ROWS: readonly Row[] = [
  {
    what: "mixed protocols of two node ports",
    spec: { ports: TCP_UDP },
    says: ["TCP and UDP can share a number only with the same nodePort"],
  },
  {
    what: "UDP on a classic one",
    isNetwork: false,
    spec: { ports: [{ protocol: "UDP", port: 53 }] },
    says: ['"UDP"', "spec.ports[0].protocol", "allowed: TCP"],
  },
  {
    what: "session affinity",
    spec: { sessionAffinity: "ClientIP" },
    says: ['spec.sessionAffinity ("ClientIP") is not supported', "allowed: None"],
  },
  {
    what: "loadBalancerIP",
    spec: { loadBalancerIP: "192.0.2.1" },
    says: ['spec.loadBalancerIP ("192.0.2.1") is not supported', "allowed: an empty field"],
  },
  {
    what: "an unknown value",
    annotations: () => ({ "healthcheck-interval": "7 days" }),
    says: [`${PREFIX}healthcheck-interval is "7 days"`, "allowed: a whole number from 5 to 300"],
  },
  {
    what: "a certificate that does not exist",
    annotations: () => ({ "ssl-cert": CERTIFICATE }),
    refused: ["elbv2:CreateListener", "CertificateNotFound"],
    says: [`${PREFIX}ssl-cert ("${CERTIFICATE}")`, "allowed: what the cluster's operator allows"],
  },
  {
    what: "the same on a classic one",
    isNetwork: false,
    annotations: () => ({ "ssl-cert": CERTIFICATE }),
    refused: ["elb:CreateLoadBalancer", "CertificateNotFound"],
    says: [`${PREFIX}ssl-cert ("${CERTIFICATE}")`, "allowed: what the cluster's operator allows"],
  },
  {
    what: "subnets of one zone twice",
    annotations: ({ twin }, [first]) => ({ subnets: `${first},${twin}` }),
    says: [`${PREFIX}subnets ("subnet-`, "two subnets of one zone", "allowed: one for each zone"],
  },
  {
    what: "as many Elastic IPs as there are no subnets",
    annotations: ({ address }) => ({ "eip-allocations": address }),
    says: [`${PREFIX}eip-allocations ("eipalloc-`, "must name one address for each subnet"],
  },
  {
    what: "Elastic IPs that do not exist",
    annotations: () => ({ "eip-allocations": ABSENT }),
    says: [`${PREFIX}eip-allocations ("${ABSENT}")`, "that were not found", "allowed: free ones"],
  },
  {
    what: "no security group of nodes",
    pool: "none",
    isServed: true,
    says: ["No security group of the nodes is identified as the cluster's", "Ask the operator"],
  },
  {
    what: "two tagged groups",
    pool: "twice",
    isServed: true,
    says: ["More than one security group of a node has the cluster's tag", "Ask the operator"],
  },
  {
    what: "another cluster's subnet",
    annotations: ({ theirSubnet }) => ({ subnets: theirSubnet }),
    says: [`${PREFIX}subnets ("subnet-`, "allowed: subnets of the cluster"],
  },
  {
    what: "another cluster's security group",
    isNetwork: false,
    annotations: ({ theirGroup }) => ({ "security-groups": theirGroup }),
    says: [`${PREFIX}security-groups ("sg-`, "allowed: the cluster's own"],
  },
  {
    what: "another cluster's Elastic IPs",
    annotations: ({ theirAddress, address }) => ({ "eip-allocations": `${theirAddress},${address}` }),
    says: [`${PREFIX}eip-allocations ("eipalloc-`, "allowed: free ones that are the cluster's own"],
  },
  {
    what: "someone else's certificate",
    annotations: () => ({ "ssl-cert": "arn:aws:acm:eu-central-1:999999999999:certificate/a" }),
    says: [`${PREFIX}ssl-cert ("arn:aws:acm:eu-central-1:999999999999:certificate/a")`, "may not be used"],
  },
  {
    what: "someone else's bucket",
    annotations: () => ({ "access-log-enabled": "true", "access-log-s3-bucket-name": "theirs" }),
    says: [`${PREFIX}access-log-s3-bucket-name ("theirs")`, "may not be used"],
  },
  {
    what: "a quota of target groups that is used up in the middle",
    refused: ["elbv2:CreateTargetGroup", "TooManyTargetGroups"],
    says: ["The cloud account has reached its quota of load balancers or of their parts"],
  },
  {
    what: "a quota of listeners",
    refused: ["elbv2:CreateListener", "TooManyListeners"],
    says: ["more ports than a load balancer may have listeners"],
  },
  {
    what: "a quota of security groups",
    isNetwork: false,
    refused: ["ec2:CreateSecurityGroup", "SecurityGroupLimitExceeded"],
    says: ["The cloud account has reached its quota of load balancers or of their parts"],
  },
];
const TABLE = ROWS.map((row, index) => ({ ...row, name: `bad${String(index).padStart(2, "0")}` }));
const GOOD = ["good1", "good2"];

describeWithPart(
  "moto",
  "what Services ask for that they cannot have, in one batch with others",
  (program) => {
    let batch: AwsBatch;
    let cloud: object;
    let plain: string;
    const stored = new Map<string, Stored>();

    beforeAll(async () => {
      batch = await startAwsBatch(program);
      const { aws, network, moto } = batch;
      const theirs = await makeNetwork(aws.ec2, { clusterTag: "theirs", number: 30 });
      const groupOf = async (
        GroupName: string,
        Tags: { Key: string; Value: string }[] = [],
      ): Promise<string> => {
        const TagSpecifications =
          Tags.length === 0 ? [] : [{ ResourceType: "security-group" as const, Tags }];
        const group = { GroupName, Description: GroupName, VpcId: network.vpc, TagSpecifications };
        return (await aws.ec2.send(new CreateSecurityGroupCommand(group))).GroupId ?? "";
      };
      const addressOf = async (Key: string, Value: string): Promise<string> => {
        const TagSpecifications = [{ ResourceType: "elastic-ip" as const, Tags: [{ Key, Value }] }];
        const made = await aws.ec2.send(new AllocateAddressCommand({ Domain: "vpc", TagSpecifications }));
        return made.AllocationId ?? "";
      };
      const ids: Ids = {
        twin: await network.twinSubnet(),
        theirSubnet: theirs.subnets[0],
        theirGroup: await groupOf("theirs", [{ Key: "kubernetes.io/cluster/theirs", Value: "owned" }]),
        theirAddress: await addressOf("kubernetes.io/cluster/theirs", "owned"),
        address: await addressOf("edge", "yes"),
      };
      cloud = {
        allow: {
          elasticIPs: [{ tag: "edge" }, ...ABSENT.split(",")],
          certificates: ["arn:aws:acm:eu-central-1:123456789012:certificate/*"],
        },
      };
      const [one = "", twice = "", none = ""] = await network.launch(3);
      plain = one;
      const second = await groupOf("nodes-2", [
        { Key: `kubernetes.io/cluster/${CLUSTER_TAG}`, Value: "owned" },
      ]);
      const groups = {
        [twice]: [network.nodeGroup, second],
        [none]: [await groupOf("x"), await groupOf("y")],
      };
      for (const [InstanceId, Groups] of Object.entries(groups))
        await aws.ec2.send(new ModifyInstanceAttributeCommand({ InstanceId, Groups }));
      // A node without an instance delays no other node.
      await batch.node("ghost", "i-0123456789abcdef0", { pool: "plain" });
      for (const [pool, instance] of Object.entries({ plain, twice, none }))
        await batch.node(instance, instance, { pool });
      const annotated = (pool: string, isNetwork: boolean, more: Readonly<Record<string, string>> = {}) =>
        Object.fromEntries(
          Object.entries({
            ...(isNetwork ? { type: "nlb" } : {}),
            "target-node-labels": `pool=${pool}`,
            ...more,
          }).map(([suffix, value]) => [`${PREFIX}${suffix}`, value]),
        );
      stored.set("good1", await batch.create("good1", annotated("plain", true)));
      for (const { name, pool = "plain", isNetwork = true, annotations, spec } of TABLE)
        stored.set(
          name,
          await batch.create(name, annotated(pool, isNetwork, annotations?.(ids, network.subnets)), spec),
        );
      stored.set("good2", await batch.create("good2", annotated("plain", false)));
      for (const { name, refused } of TABLE) {
        if (refused === undefined) continue;
        const [operation, code] = refused;
        moto.failures.plan({
          operation,
          count: 2,
          naming: `default/${name}`,
          failure: { kind: "refuse", code },
        });
      }
      // What is due at once again is brought to its end; what has to wait, such as for the ghost's instance, is left.
      let due: readonly string[] = [...stored.keys()];
      for (let round = 0; round < 8 && due.length > 0; round += 1) {
        const reports = await batch.invoke(due, cloud);
        due = reports.flatMap(({ name = "", outcome, because, afterSeconds = 0 }) =>
          outcome === "retry" && afterSeconds < 20 && because?.message.startsWith("TargetsAwaited") !== true
            ? name
            : [],
        );
      }
      expect(due).toEqual([]);
    }, 180_000);
    afterAll(() => batch?.close());

    const hostnameOf = async (name: string) =>
      (await batch.read(name)).status.loadBalancer.ingress?.[0]?.hostname;
    const warningsOf = async (name: string) => (await batch.warnings(name)).join("\n");

    test.each(GOOD)("%s is served, and hears nothing of the others", async (name) => {
      expect(await hostnameOf(name)).toMatch(/^a[0-9a-f]{31}/);
      expect(await warningsOf(name)).toBe("");
    });

    test.each(TABLE)(
      "$what: a Warning tells what and what is allowed, and nothing half-made stays",
      async (row) => {
        const warnings = await warningsOf(row.name);
        expect(warnings).toContain("SyncLoadBalancerFailed: ");
        for (const words of row.says) expect(warnings).toContain(words);
        const service = stored.get(row.name) as Stored;
        const left = await batch.left(service);
        if (row.isServed) expect(await hostnameOf(row.name)).toBeDefined();
        else expect([await hostnameOf(row.name), left]).toEqual([undefined, []]);
      },
    );

    test("a refused request is not repeated while nothing changes", async () => {
      const { failures } = batch.moto;
      // Two refusals were planned of each.
      expect(failures.left()).toBe(TABLE.filter(({ refused }) => refused !== undefined).length);
      const names = TABLE.filter(({ refused }) => refused !== undefined).map(({ name }) => name);
      const reports = await batch.invoke(names, cloud);
      expect(reports.map(({ outcome }) => outcome)).toEqual(names.map(() => "retry"));
      expect(failures.left()).toBe(names.length);
    });

    test("a cluster has so many load balancers and no more: older ones keep theirs, and those beyond wait and say so", async () => {
      const names = ["many1", "many2", "many3"];
      for (const name of names) stored.set(name, await batch.create(name, { [`${PREFIX}type`]: "nlb" }));
      // The older one comes first, even if its own request is impossible.
      const older = stored.size - names.length;
      for (let round = 0; round < 4; round += 1)
        await batch.invoke(names, cloud, { loadBalancers: { max: older + 1 } });
      const served = await Promise.all(names.map(hostnameOf));
      expect(served.filter((each) => each !== undefined)).toHaveLength(1);
      for (const [index, name] of names.entries()) {
        if (served[index] !== undefined) continue;
        expect(await warningsOf(name)).toContain("has reached its limit of load balancers");
        expect(await batch.left(stored.get(name) as Stored)).toEqual([]);
      }
      expect(await hostnameOf("good1")).toBeDefined();
    });

    test("no subnet that is fit: one from the internet is refused with the remedy, an internal one is made", async () => {
      const RouteTableId = batch.network.routeTable;
      await batch.aws.ec2.send(new DeleteRouteCommand({ RouteTableId, DestinationCidrBlock: "0.0.0.0/0" }));
      const names = ["outside", "inside"];
      stored.set("outside", await batch.create("outside", { [`${PREFIX}type`]: "nlb" }));
      stored.set(
        "inside",
        await batch.create("inside", { [`${PREFIX}type`]: "nlb", [`${PREFIX}internal`]: "true" }),
      );
      for (let round = 0; round < 4; round += 1) await batch.invoke(names, cloud);
      expect(await warningsOf("outside")).toContain(
        "Tag a subnet with kubernetes.io/cluster/NAME, or name subnets by annotation.",
      );
      expect(await batch.left(stored.get("outside") as Stored)).toEqual([]);
      expect(await hostnameOf("inside")).toBeDefined();
    });
  },
);
