import type { Filter } from "@aws-sdk/client-ec2";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  MAX_PAGES,
} from "#clouds/aws/describe-instances.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import type { NodeMatcher } from "#clouds/aws/node-matchers.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isInstanceId, parseProviderID } from "#clouds/aws/provider-id.ts";
import { isClusterInstance } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { Node } from "#core/node/node.ts";

/** The instances found for each key, and the faults of the keys that could not be looked up. */
export interface Candidates {
  readonly found: ReadonlyMap<string, readonly FoundInstance[]>;
  readonly faults: ReadonlyMap<string, Fault>;
}

/** Finds the instances that match keys, with as many keys per request as EC2 takes. */
export async function findCandidates(
  keys: readonly string[],
  matcher: NodeMatcher,
  session: Session,
  cluster: AwsCluster,
): Promise<Candidates> {
  const found = new Map<string, readonly FoundInstance[]>();
  const faults = new Map<string, Fault>();
  const otherFilters = buildOwnershipFilters(cluster.vpc);

  const findChunk = async (chunk: readonly string[], splitsLeft: number): Promise<void> => {
    const filter = { Name: matcher.filter, Values: chunk.map(matcher.pattern ?? ((key) => key)) };
    const listing = await describeInstances(session, [filter, ...otherFilters]);
    const failAll = (fault: Fault): void => {
      for (const key of chunk) faults.set(key, fault);
    };
    if (listing.kind === "fault") return failAll(listing.fault);
    const byKey = Map.groupBy(
      listing.value.found.flatMap((each) =>
        matcher.listInstanceKeys(each.instance).map((key) => ({ key, each })),
      ),
      ({ key }) => key,
    );
    if (listing.value.isWhole) {
      for (const key of chunk)
        found.set(
          key,
          (byKey.get(key) ?? []).map(({ each }) => each),
        );
      if (listing.value.unnamed > 0) failAll(UNNAMED);
      return;
    }
    // The key with the most matches gets a request of its own, so that it cannot crowd out the others.
    const [broadest] = chunk.toSorted((a, b) => (byKey.get(b)?.length ?? 0) - (byKey.get(a)?.length ?? 0));
    if (broadest === undefined || (byKey.get(broadest)?.length ?? 0) < 2 || splitsLeft === 0) {
      return failAll(UNFINISHED);
    }
    if (chunk.length === 1) {
      const ownedInstances = (byKey.get(broadest) ?? []).filter(({ each }) =>
        isClusterInstance(each, cluster),
      );
      return failAll(ownedInstances.length < 2 ? UNFINISHED : TOO_MANY);
    }
    const otherKeys = chunk.filter((key) => key !== broadest);
    await Promise.all([findChunk([broadest], splitsLeft), findChunk(otherKeys, splitsLeft - 1)]);
  };

  await Promise.all(
    splitIntoChunks(keys, countFreeFilterValues(otherFilters)).map((chunk) => findChunk(chunk, MAX_SPLITS)),
  );
  return { found, faults };
}

/** Maximum number of keys per unfinished request that get a request of their own. */
const MAX_SPLITS = 3;

/** Excludes terminated instances: their names and addresses are free for reuse. */
function buildOwnershipFilters(vpc: string | undefined): Filter[] {
  return [
    ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
    {
      Name: "instance-state-name",
      Values: ["pending", "running", "shutting-down", "stopping", "stopped"],
    },
  ];
}

const UNNAMED: Fault = {
  code: "Unavailable",
  message: "DescribeInstances: the answer holds instances without an id",
};

const UNFINISHED: Fault = {
  code: "Unavailable",
  message: `DescribeInstances: more than ${MAX_PAGES} pages, the rest is not read; start the kubelet with --provider-id, which needs no search`,
};

const TOO_MANY: Fault = {
  code: "Ambiguous",
  message: `DescribeInstances: more than ${MAX_PAGES} pages of instances of this name; start the kubelet with --provider-id`,
};

/** How to find a node's instance. */
type Query =
  | { readonly kind: "instance-id"; readonly id: string }
  | { readonly kind: "fargate"; readonly address: string }
  | { readonly kind: "name" }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** Queries by provider ID if present, else by an instance id at the start of the name, else by the name. */
export function buildQuery(node: Node): Query {
  const { providerID } = node.spec;
  if (providerID) {
    const parsed = parseProviderID(providerID);
    return parsed.kind === "instance" ? { kind: "instance-id", id: parsed.id } : parsed;
  }
  const [label = ""] = node.metadata.name.split(".");
  return isInstanceId(label) ? { kind: "instance-id", id: label } : { kind: "name" };
}
