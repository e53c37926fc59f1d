import { type Fault, type Outcome, parseAwsError } from "#clouds/aws/errors.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { splitIntoChunks } from "#core/chunks.ts";

/** AWS's maximum of resources per request for tags. */
const MAX_RESOURCES = 20;

/** The tags of each resource; undefined if it was deleted meanwhile. */
export type TagsById = ReadonlyMap<string, Outcome<Pairs | undefined>>;

/** Reads tags of ELBv2 resources by ARN. */
export function readNetworkTags(arns: readonly string[], read: Reader): Promise<TagsById> {
  return readTags(arns, async (chunk) => {
    const answer = await read("elbv2:DescribeTags", { ResourceArns: [...chunk] });
    if (answer.kind === "fault") return answer;
    return ok(
      new Map(
        (answer.value.TagDescriptions ?? []).map(({ ResourceArn: arn = "", Tags: tags }) => [
          arn,
          toPairs(tags),
        ]),
      ),
    );
  });
}

/** Reads tags of classic load balancers by name. */
export function readClassicTags(names: readonly string[], read: Reader): Promise<TagsById> {
  return readTags(names, async (chunk) => {
    const answer = await read("elb:DescribeTags", { LoadBalancerNames: [...chunk] });
    if (answer.kind === "fault") return answer;
    return ok(
      new Map(
        (answer.value.TagDescriptions ?? []).map(({ LoadBalancerName: name = "", Tags: tags }) => [
          name,
          toPairs(tags),
        ]),
      ),
    );
  });
}

type Describe = (chunk: readonly string[]) => Promise<Outcome<ReadonlyMap<string, Pairs>>>;

async function readTags(ids: readonly string[], describe: Describe): Promise<TagsById> {
  const found = new Map<string, Outcome<Pairs | undefined>>();
  // A resource deleted between two requests fails the whole request: reading the halves finds it.
  const readChunk = async (chunk: readonly string[]): Promise<void> => {
    const answer = await describe(chunk);
    if (answer.kind === "ok") {
      for (const id of chunk) {
        const tags = answer.value.get(id);
        found.set(
          id,
          tags === undefined ? fault("Unavailable", `DescribeTags: the answer lacks ${id}`) : ok(tags),
        );
      }
    } else if (!isNotFound(answer.fault)) {
      for (const id of chunk) found.set(id, answer);
    } else if (chunk.length === 1) {
      for (const id of chunk) found.set(id, ok(undefined));
    } else {
      const half = Math.ceil(chunk.length / 2);
      await Promise.all([readChunk(chunk.slice(0, half)), readChunk(chunk.slice(half))]);
    }
  };
  await Promise.all(splitIntoChunks(ids, MAX_RESOURCES).map(readChunk));
  return found;
}

/** Whether a fault is AWS's positive "not found"; version 1 calls a load balancer an access point. */
export function isNotFound({ thrown }: Fault): boolean {
  return /^(LoadBalancer|AccessPoint|TargetGroup|Listener)NotFound$/.test(parseAwsError(thrown).code);
}
