import type { Fault, Outcome } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { createExpiringMap } from "#core/bounded-map.ts";
import { splitIntoChunks } from "#core/chunks.ts";

/**
 * Prefix of labels that name the network nodes above an instance: layer 1 is the farthest, the last one the
 * instance's own.
 */
export const NETWORK_NODE_LABEL_PREFIX = "topology.k8s.aws/network-node-layer-";

type Labels = Readonly<Record<string, string>>;

/** The position of instances in the network. */
export interface Topology {
  /** Whether the configured pattern includes this instance type. */
  isCovered(type: string): boolean;
  /** Returns the labels of each instance, 100 per request; none if EC2 has none or refuses. */
  readLabels(ids: readonly string[], session: Session): Promise<ReadonlyMap<string, Outcome<Labels>>>;
}

/** `now` is a monotonic clock in milliseconds. */
export function createTopology(pattern: string, now: () => number): Topology {
  const typePattern = new RegExp(pattern);
  let refusedUntil = Number.NEGATIVE_INFINITY;
  const unpositionedIds = createExpiringMap<string, true>({ ttlMs: NEGATIVE_MS, limit: MAX_REMEMBERED, now });
  const unknownIds = createExpiringMap<string, true>({ ttlMs: UNKNOWN_MS, limit: MAX_REMEMBERED, now });

  const requestLabels = async (
    ids: string[],
    session: Session,
  ): Promise<Outcome<ReadonlyMap<string, Labels>>> => {
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
      ({ InstanceId: id, NetworkNodes: nodes = [] }) => [id, buildLabels(nodes)] as const,
    );
    return ok(new Map(labels.flatMap(([id, each]) => (id ? [[id, each]] : []))));
  };

  return {
    isCovered: (type) => typePattern.test(type),
    async readLabels(ids, session) {
      const results = new Map<string, Outcome<Labels>>();
      for (const id of ids) if (unknownIds.has(id)) results.set(id, UNKNOWN);
      const chunks = splitIntoChunks(
        ids.filter((id) => !unpositionedIds.has(id) && !unknownIds.has(id)),
        MAX_IDS,
      );
      let splits = 0;
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
        if (now() < refusedUntil) break;
        const answer = await requestLabels(chunk, session);
        if (answer.kind === "ok") {
          for (const id of chunk) {
            const labels = answer.value.get(id) ?? {};
            results.set(id, ok(labels));
            if (Object.keys(labels).length === 0 && now() >= refusedUntil) unpositionedIds.set(id, true);
          }
          continue;
        }
        const split = answer.fault.unknownIds
          ? splitUnknown(chunk, answer.fault)
          : { unknown: [], others: [] };
        for (const id of split.unknown) unknownIds.set(id, true);
        for (const id of chunk) results.set(id, answer);
        splits += 1;
        if (splits <= MAX_SPLITS) chunks.unshift(...split.others);
      }
      return results;
    },
  };
}

/** EC2's maximum of ids in one DescribeInstanceTopology. */
const MAX_IDS = 100;

/** Time for which a missing position, of an instance or of the whole operation, is cached: a day. */
const NEGATIVE_MS = 24 * 60 * 60_000;

/** An id that fails the others of its request is left out for this time; EC2 will know it soon. */
const UNKNOWN_MS = 10_000;

/** Maximum splits of a batch because of bad ids: halving 100 reaches one within these. */
const MAX_SPLITS = 7;

const UNKNOWN = fault("Unavailable", "DescribeInstanceTopology: EC2 did not know the instance a moment ago");

/** Returns the ids that EC2 named as unknown and the rest; halves if it named none. */
function splitUnknown(
  ids: readonly string[],
  { message }: Fault,
): { readonly unknown: readonly string[]; readonly others: string[][] } {
  const words = new Set(message.split(/[^0-9A-Za-z-]+/));
  const unknown = ids.filter((id) => ids.length === 1 || words.has(id));
  const others = ids.filter((id) => !unknown.includes(id));
  const size = unknown.length > 0 ? MAX_IDS : Math.ceil(ids.length / 2);
  return { unknown, others: splitIntoChunks(others, size) };
}

/** New ids push out the oldest beyond this number. */
const MAX_REMEMBERED = 10_000;

function buildLabels(networkNodes: readonly string[]): Labels {
  return Object.fromEntries(
    networkNodes.map((id, layer) => [`${NETWORK_NODE_LABEL_PREFIX}${layer + 1}`, id]),
  );
}
