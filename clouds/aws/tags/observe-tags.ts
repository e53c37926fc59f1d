import type { Filter } from "@aws-sdk/client-ec2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import {
  chunksOf,
  describeInstances,
  type Found,
  MAX_PAGES,
  roomBeside,
} from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { isLive, liveFilters } from "#clouds/aws/live.ts";
import { isOurs } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import { failureOf } from "#clouds/observation.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Tags, TagsQuestion, TagsState } from "#core/tagging/model.ts";

/**
 * The tags of live instances of the cluster. Those with the mark come in pages of a thousand, and of the others two hundred are looked
 * up at a time. Part of them is no answer: an instance that is missed would be one that is not there.
 */
export async function observeTags(
  { ids, mark }: TagsQuestion,
  session: Session,
  cluster: AwsCluster,
): Promise<Observation> {
  const marked = await list([...liveFilters(cluster), { Name: "tag-key", Values: [mark] }], session);
  if (marked.kind === "fault") return failureOf(marked.fault);
  const known = new Set(marked.value.map(({ id }) => id));
  const others = ids.filter((id) => !known.has(id));
  const found = [...marked.value];
  for (const chunk of chunksOf(others, roomBeside([]))) {
    const listed = await list([{ Name: "instance-id", Values: chunk }], session);
    if (listed.kind === "fault") return failureOf(listed.fault);
    found.push(...listed.value);
  }
  const ours = found.filter((each) => isLive(each) && isOurs(each, cluster));
  const state: TagsState = { resources: Object.fromEntries(ours.map((each) => [each.id, tagsOf(each)])) };
  return { kind: "observed", state };
}

async function list(filters: readonly Filter[], session: Session): Promise<Outcome<readonly Found[]>> {
  const listing = await describeInstances(session, filters);
  if (listing.kind === "fault") return listing;
  const { found, unnamed, isWhole } = listing.value;
  if (isWhole && unnamed === 0) return ok(found);
  const because = isWhole ? "instances without an id" : `more pages than ${MAX_PAGES}`;
  return fault("Unavailable", `DescribeInstances: the answer holds ${because}`);
}

function tagsOf({ instance: { Tags: tags = [] } }: Found): Tags {
  return Object.fromEntries(tags.map(({ Key: key = "", Value: value = "" }) => [key, value]));
}
