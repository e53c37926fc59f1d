import type { Filter } from "@aws-sdk/client-ec2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import {
  chunksOf,
  describeInstances,
  type Found,
  MAX_PAGES,
  roomBeside,
} from "#clouds/aws/describe-instances.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import type { Means } from "#clouds/aws/means.ts";
import { isOurs } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";

/** What was found for each key, and why nothing can be said of others. */
export interface Candidates {
  readonly found: ReadonlyMap<string, readonly Found[]>;
  readonly faults: ReadonlyMap<string, Fault>;
}

/** The instances that answer to keys, as many keys a request as EC2 takes. */
export async function findCandidates(
  keys: readonly string[],
  means: Means,
  session: Session,
  cluster: AwsCluster,
): Promise<Candidates> {
  const found = new Map<string, readonly Found[]>();
  const faults = new Map<string, Fault>();
  const otherFilters = belongingFilters(cluster.vpc);

  const find = async (chunk: readonly string[], partings: number): Promise<void> => {
    const filter = { Name: means.filter, Values: chunk.map(means.pattern ?? ((key) => key)) };
    const listing = await describeInstances(session, [filter, ...otherFilters]);
    const failAll = (fault: Fault): void => {
      for (const key of chunk) faults.set(key, fault);
    };
    if (listing.kind === "fault") return failAll(listing.fault);
    const byKey = Map.groupBy(
      listing.value.found.flatMap((each) =>
        means.keysOfInstance(each.instance).map((key) => ({ key, each })),
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
    // Whichever key the most answer to is asked for by itself, so that it stands in nobody else's way.
    const [broadest] = chunk.toSorted((a, b) => (byKey.get(b)?.length ?? 0) - (byKey.get(a)?.length ?? 0));
    if (broadest === undefined || (byKey.get(broadest)?.length ?? 0) < 2 || partings === 0) {
      return failAll(UNFINISHED);
    }
    if (chunk.length === 1) {
      const ours = (byKey.get(broadest) ?? []).filter(({ each }) => isOurs(each, cluster));
      return failAll(ours.length < 2 ? UNFINISHED : TOO_MANY);
    }
    const others = chunk.filter((key) => key !== broadest);
    await Promise.all([find([broadest], partings), find(others, partings - 1)]);
  };

  await Promise.all(chunksOf(keys, roomBeside(otherFilters)).map((chunk) => find(chunk, MAX_PARTINGS)));
  return { found, faults };
}

/** How many keys of a request that did not come to an end are asked for by themselves. */
const MAX_PARTINGS = 3;

/** Terminated instances are left out: their names and addresses are free for others again. */
function belongingFilters(vpc: string | undefined): Filter[] {
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
  message: `DescribeInstances: more than ${MAX_PAGES} pages, not looked at further; a kubelet with --provider-id needs no search`,
};

const TOO_MANY: Fault = {
  code: "Ambiguous",
  message: `DescribeInstances: more than ${MAX_PAGES} pages of instances of this name; start the kubelet with --provider-id`,
};
