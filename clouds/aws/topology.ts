import { chunksOf } from "#clouds/aws/describe-instances.ts";
import { fault, type Outcome, ok } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";

/** Labels that name the network nodes above an instance: layer 1 is the farthest, the last one the instance's own. */
export const NETWORK_NODE_LABEL_PREFIX = "topology.k8s.aws/network-node-layer-";

type Labels = Readonly<Record<string, string>>;

/** The place of instances in the network. */
export interface Topology {
  /** Whether instances of this type are worth asking for, by the configured pattern. */
  covers(type: string): boolean;
  /** The labels of each instance, 100 a request; none where EC2 has none, or will not say. */
  labelsOf(ids: readonly string[], session: Session): Promise<ReadonlyMap<string, Outcome<Labels>>>;
}

/** `now` is milliseconds of a clock that never goes back. */
export function createTopology(pattern: string, now: () => number): Topology {
  const expected = new RegExp(pattern);
  let refusedUntil = Number.NEGATIVE_INFINITY;
  const emptyUntil = new Map<string, number>();

  const ask = async (ids: string[], session: Session): Promise<Outcome<ReadonlyMap<string, Labels>>> => {
    const answer = await session.send("DescribeInstanceTopology", (ec2, signal) =>
      ec2.describeInstanceTopology({ InstanceIds: ids }, signal),
    );
    if (answer.kind === "fault") {
      if (answer.fault.refused !== true) return answer;
      refusedUntil = now() + NEGATIVE_MS;
      return ok(new Map());
    }
    const { Instances: instances } = answer.value;
    if (instances === undefined) {
      return fault("Unavailable", "DescribeInstanceTopology: the answer is not a list of instances");
    }
    const labels = instances.map(
      ({ InstanceId: id, NetworkNodes: nodes = [] }) => [id, labelsFor(nodes)] as const,
    );
    return ok(new Map(labels.flatMap(([id, each]) => (id ? [[id, each]] : []))));
  };

  return {
    covers: (type) => expected.test(type),
    async labelsOf(ids, session) {
      const results = new Map<string, Outcome<Labels>>();
      const open = ids.filter((id) => (emptyUntil.get(id) ?? Number.NEGATIVE_INFINITY) <= now());
      for (const chunk of chunksOf(open, MAX_IDS)) {
        if (now() < refusedUntil) break;
        const answer = await ask(chunk, session);
        for (const id of chunk) {
          if (answer.kind === "fault") results.set(id, answer);
          else {
            const labels = answer.value.get(id) ?? {};
            results.set(id, ok(labels));
            if (Object.keys(labels).length === 0 && now() >= refusedUntil) {
              remember(emptyUntil, id, now() + NEGATIVE_MS);
            }
          }
        }
      }
      return results;
    },
  };
}

/** EC2 takes at most this many ids in one DescribeInstanceTopology. */
const MAX_IDS = 100;

/** For how long "there is none" is believed, whether of an instance or of the operation as a whole: a day. */
const NEGATIVE_MS = 24 * 60 * 60_000;

/** The oldest make room for new ones. */
const MAX_REMEMBERED = 10_000;

function remember(cache: Map<string, number>, id: string, until: number): void {
  cache.delete(id);
  cache.set(id, until);
  const [oldest] = cache.keys();
  if (cache.size > MAX_REMEMBERED && oldest !== undefined) cache.delete(oldest);
}

function labelsFor(networkNodes: readonly string[]): Labels {
  return Object.fromEntries(
    networkNodes.map((id, layer) => [`${NETWORK_NODE_LABEL_PREFIX}${layer + 1}`, id]),
  );
}
