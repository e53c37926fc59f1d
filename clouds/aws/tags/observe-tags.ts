import type { Filter } from "@aws-sdk/client-ec2";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  MAX_PAGES,
  splitIntoChunks,
} from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { buildLiveFilters, isLive } from "#clouds/aws/live-filters.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import { toFailure } from "#clouds/observation.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Tags, TagsQuestion, TagsState } from "#core/tagging/model.ts";

/**
 * Reads the tags of the cluster's live instances. Instances with the tag `mark` come in pages of a thousand; others
 * are looked up 200 at a time. A partial answer is an error, because a missed instance would count as
 * missing.
 */
export async function observeTags(
  { ids, mark }: TagsQuestion,
  session: Session,
  cluster: AwsCluster,
): Promise<Observation> {
  const markedInstances = await listInstances(
    [...buildLiveFilters(cluster), { Name: "tag-key", Values: [mark] }],
    session,
  );
  if (markedInstances.kind === "fault") return toFailure(markedInstances.fault);
  const markedIds = new Set(markedInstances.value.map(({ id }) => id));
  const otherIds = ids.filter((id) => !markedIds.has(id));
  const found = [...markedInstances.value];
  for (const chunk of splitIntoChunks(otherIds, countFreeFilterValues([]))) {
    const listed = await listInstances([{ Name: "instance-id", Values: chunk }], session);
    if (listed.kind === "fault") return toFailure(listed.fault);
    found.push(...listed.value);
  }
  const ownedInstances = found.filter((each) => isLive(each) && isClusterInstance(each, cluster));
  const state: TagsState = {
    resources: Object.fromEntries(ownedInstances.map((each) => [each.id, readTags(each)])),
  };
  return { kind: "observed", state };
}

async function listInstances(
  filters: readonly Filter[],
  session: Session,
): Promise<Outcome<readonly FoundInstance[]>> {
  const listing = await describeInstances(session, filters);
  if (listing.kind === "fault") return listing;
  const { found, unnamed, isWhole } = listing.value;
  if (isWhole && unnamed === 0) return ok(found);
  const reason = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
  return fault("Unavailable", `DescribeInstances: the answer holds ${reason}`);
}

function readTags({ instance: { Tags: tags = [] } }: FoundInstance): Tags {
  return Object.fromEntries(tags.map(({ Key: key = "", Value: value = "" }) => [key, value]));
}
