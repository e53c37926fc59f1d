import { chunksOf } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/by-name.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { pairsOf } from "#clouds/aws/load-balancers/vpc/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** AWS describes the tags of so many resources in a call. */
const MAX_RESOURCES = 20;

/** The tags of each resource; undefined where the resource has gone meanwhile. */
export type TagsOf = ReadonlyMap<string, Outcome<Pairs | undefined>>;

/** Tags of whatever ELBv2 has, by ARN. */
export function networkTags(arns: readonly string[], read: Reader): Promise<TagsOf> {
  return tagsOfAll(arns, async (chunk) => {
    const answer = await read("elbv2:DescribeTags", { ResourceArns: [...chunk] });
    if (answer.kind === "fault") return answer;
    return ok(
      new Map(
        (answer.value.TagDescriptions ?? []).map(({ ResourceArn: arn = "", Tags: tags }) => [
          arn,
          pairsOf(tags),
        ]),
      ),
    );
  });
}

/** Tags of classic load balancers, by name. */
export function classicTags(names: readonly string[], read: Reader): Promise<TagsOf> {
  return tagsOfAll(names, async (chunk) => {
    const answer = await read("elb:DescribeTags", { LoadBalancerNames: [...chunk] });
    if (answer.kind === "fault") return answer;
    return ok(
      new Map(
        (answer.value.TagDescriptions ?? []).map(({ LoadBalancerName: name = "", Tags: tags }) => [
          name,
          pairsOf(tags),
        ]),
      ),
    );
  });
}

type Describe = (chunk: readonly string[]) => Promise<Outcome<ReadonlyMap<string, Pairs>>>;

async function tagsOfAll(ids: readonly string[], describe: Describe): Promise<TagsOf> {
  const found = new Map<string, Outcome<Pairs | undefined>>();
  // One that has gone between two calls fails the whole call: the halves tell which it was.
  const ask = async (chunk: readonly string[]): Promise<void> => {
    const answer = await describe(chunk);
    if (answer.kind === "ok") {
      for (const id of chunk) {
        const tags = answer.value.get(id);
        found.set(id, tags === undefined ? fault("Unavailable", `DescribeTags: no word of ${id}`) : ok(tags));
      }
    } else if (!isNotFound(answer.fault)) {
      for (const id of chunk) found.set(id, answer);
    } else if (chunk.length === 1) {
      for (const id of chunk) found.set(id, ok(undefined));
    } else {
      const half = Math.ceil(chunk.length / 2);
      await Promise.all([ask(chunk.slice(0, half)), ask(chunk.slice(half))]);
    }
  };
  await Promise.all(chunksOf(ids, MAX_RESOURCES).map(ask));
  return found;
}
