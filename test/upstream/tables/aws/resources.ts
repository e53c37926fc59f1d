import * as z from "zod";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { isOfCluster, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { createTopology } from "#clouds/aws/topology.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import { type ComparedCase, type ControllerTables, explainCases } from "#test/upstream/tables/rows.ts";

// The tables of how the stock controller on AWS recognizes instances, clusters and subnets.

const FOLDER = "pkg/providers/v1";

const TESTS: readonly RecordedTest[] = [
  {
    file: `${FOLDER}/instances_test.go`,
    test: "TestMapToAWSInstanceIDs",
    loop: "test",
    values: { case: "test" },
  },
  {
    file: `${FOLDER}/topology_test.go`,
    test: "TestDoesInstanceTypeRequireResponse",
    loop: "instanceType",
    everyLoop: true,
    values: {
      type: "instanceType",
      covered: "topologyManager.DoesInstanceTypeRequireResponse(instanceType)",
    },
  },
  {
    file: `${FOLDER}/tags_test.go`,
    test: "TestHasClusterTag",
    loop: "g",
    values: { case: "g", cluster: "TestClusterID" },
  },
  { file: `${FOLDER}/tags_test.go`, test: "TestHasClusterTagOwned", loop: "tt", values: { case: "tt" } },
  {
    file: `${FOLDER}/aws_test.go`,
    test: "Test_findELBSubnets",
    loop: "tt",
    values: { case: "tt", cluster: "TestClusterID" },
  },
];

/** The tables about instances, tags and subnets on AWS. */
export const awsResourceTables: ControllerTables = {
  name: "aws-resource-tables",
  tests: TESTS,
  explanations: explainCases("TestHasClusterTagOwned", "a security group with `KubernetesCluster` alone", [
    "legacy tag with matching cluster ID returns true",
    "both legacy and new tags present - legacy matches",
    "multiple tags with one legacy match",
  ]),
  play: playCases,
};

const ProviderIdCase = z.object({
  case: z.object({
    Kubernetes: z.string().prefault(""),
    Aws: z.string().prefault(""),
    ExpectError: z.boolean().prefault(false),
  }),
});

const TopologyCase = z.object({ type: z.string(), covered: z.boolean() });

const Tag = z.object({ Key: z.string().prefault(""), Value: z.string().prefault("") });
const Tags = z
  .array(Tag)
  .nullish()
  .transform((tags) => Object.fromEntries((tags ?? []).map(({ Key, Value }) => [Key, Value])));

const TagCase = z.object({
  case: z.object({ Tags: z.record(z.string(), z.string()), Expected: z.boolean().prefault(false) }),
  cluster: z.string(),
});

const OwnedCase = z.object({
  case: z.object({
    name: z.string(),
    clusterID: z.string().prefault(""),
    tags: Tags,
    expected: z.boolean().prefault(false),
  }),
});

const SubnetsCase = z.object({
  case: z.object({
    name: z.string(),
    subnets: z.array(z.object({ AvailabilityZone: z.string(), SubnetId: z.string(), Tags })).nullish(),
    routeTables: z.record(z.string(), z.boolean()).nullish(),
    internal: z.boolean().prefault(false),
    want: z.array(z.string()).nullish(),
  }),
  cluster: z.string(),
});

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const { topologyInstanceTypePattern } = AwsCloudConfig.parse({
    provider: "aws",
    region: "us-east-1",
    clusterTag: "tenant-a",
  });
  const topology = createTopology(topologyInstanceTypePattern, () => 0);
  return [
    ...recorded.casesOf("TestMapToAWSInstanceIDs").map((values): ComparedCase => {
      const { Kubernetes: text, Aws, ExpectError } = ProviderIdCase.parse(values).case;
      return {
        test: `TestMapToAWSInstanceIDs/${JSON.stringify(text)}`,
        expected: ExpectError ? REJECTED : Aws,
        observed: readInstanceId(text),
      };
    }),
    ...recorded.casesOf("TestDoesInstanceTypeRequireResponse").map((values): ComparedCase => {
      const { type, covered } = TopologyCase.parse(values);
      const observed = topology.isCovered(type);
      return { test: `TestDoesInstanceTypeRequireResponse/${type}`, expected: covered, observed };
    }),
    ...recorded.casesOf("TestHasClusterTag").map((values): ComparedCase => {
      const { case: of, cluster } = TagCase.parse(values);
      const observed = isOfCluster(of.Tags, cluster);
      return { test: `TestHasClusterTag/${JSON.stringify(of.Tags)}`, expected: of.Expected, observed };
    }),
    ...recorded.casesOf("TestHasClusterTagOwned").map((values): ComparedCase => {
      const { name, clusterID, tags, expected } = OwnedCase.parse(values).case;
      // Upstream asks it about security groups alone.
      return { test: `TestHasClusterTagOwned/${name}`, expected, observed: isOwned(tags, clusterID) };
    }),
    ...recorded.casesOf("Test_findELBSubnets").map(compareSubnets),
  ];
}

const REJECTED = "rejected";

/** Returns the instance as upstream names it: a Fargate node by the last part of its provider ID. */
function readInstanceId(text: string): string {
  const parsed = parseProviderID(text);
  if (parsed.kind === "instance") return parsed.id;
  return parsed.kind === "fargate" ? (text.split("/").at(-1) ?? "") : REJECTED;
}

/** Upstream's zones that are no availability zones. */
const ZONE_TYPES: Readonly<Record<string, string>> = {
  "az-local": "local-zone",
  "az-wavelength": "wavelength-zone",
};

function compareSubnets(values: unknown): ComparedCase {
  const { case: of, cluster } = SubnetsCase.parse(values);
  const subnets = (of.subnets ?? []).map(({ Tags: tags, ...subnet }) => ({
    subnet,
    tags,
    // Upstream's main route table leads to the internet.
    isPublic: of.routeTables?.[subnet.SubnetId] ?? true,
    zoneType: ZONE_TYPES[subnet.AvailabilityZone] ?? "availability-zone",
  }));
  const desired = {
    named: undefined,
    internal: of.internal,
    dualStack: false,
    clusterTag: cluster,
    allow: {
      ...{ securityGroups: [], subnets: [], elasticIPs: [], certificates: [], buckets: [] },
      nodeSecurityGroups: [],
    },
    isVpcConfigured: true,
    fallbackId: undefined,
    attachedIds: [],
  };
  const choice = chooseSubnets(desired, { id: "vpc-1", subnets, groups: [], instances: {} });
  const chosen = choice.kind === "ready" ? choice.value : [];
  return {
    test: `Test_findELBSubnets/${of.name}`,
    expected: (of.want ?? []).toSorted(),
    observed: chosen.flatMap(({ subnet }) => subnet.SubnetId ?? []).toSorted(),
  };
}
