import { buildQuery, findCandidates } from "#clouds/aws/candidates.ts";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  findGap,
  type Listing,
} from "#clouds/aws/describe-instances.ts";
import { type Outcome, toErrorAnswer } from "#clouds/aws/errors.ts";
import { resolveFargate } from "#clouds/aws/fargate.ts";
import { type NodeMatcher, PRIVATE_DNS_NAME, selectMatchers } from "#clouds/aws/node-matchers.ts";
import type { AwsCluster, Ownership } from "#clouds/aws/ownership.ts";
import {
  buildErrorResolution,
  buildNotFound,
  buildResolutionById,
  chooseInstance,
  type Resolution,
  type Resolutions,
} from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { Node } from "#core/node/node.ts";

/** What EC2 answered about machines before their nodes joined, for one kind of batch. */
export interface LookAhead {
  /** Returns the instances that were looked up by these ids, each once. */
  takeByID(ids: Iterable<string>): ReadonlyMap<string, FoundInstance>;
  /** Returns the resolutions of the nodes that were looked up by their exact names, each once. */
  takeByName(nodes: readonly Node[], cluster: AwsCluster): Resolutions;
  /** Keeps the running instances among these, which were looked up by the nodes' ids. */
  keepByID(ids: ReadonlyMap<Node, string>, resolutions: Resolutions): void;
  /** Keeps the running instances among these, which were looked up by the nodes' exact names. */
  keepByName(nodes: readonly Node[], resolutions: Resolutions): void;
  /**
   * Looks at the cluster's instances that were launched lately if enough nodes join, and keeps what it finds.
   * Never rejects. Absent if that is not wanted.
   */
  readonly lookAtLaunches?: (joining: Joining, session: Session, cluster: AwsCluster) => Promise<void>;
}

/** The numbers of nodes that join or are announced, by how EC2 is asked for them. */
export interface Joining {
  readonly byID: number;
  readonly byName: number;
}

/**
 * Resolves nodes that name their instances by id; `session` is the batch's own. Every node gets a resolution,
 * and none is a foreign instance.
 */
export type ReadById = (
  ids: ReadonlyMap<Node, string>,
  session: Session,
  ownership: Ownership,
) => Promise<Resolutions>;

/** Resolves each node of a batch; every node gets a resolution, and none is a foreign instance. */
export async function resolve(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
  ahead?: LookAhead,
  read = readById,
): Promise<Resolutions> {
  const invalidProviderIds = new Map<Node, Resolution>();
  const ids = new Map<Node, string>();
  const addresses = new Map<Node, string>();
  const namedNodes: Node[] = [];
  for (const node of nodes) {
    const query = buildQuery(node);
    switch (query.kind) {
      case "instance-id":
        ids.set(node, query.id);
        break;
      case "fargate":
        addresses.set(node, query.address);
        break;
      case "name":
        namedNodes.push(node);
        break;
      case "foreign":
      case "invalid": {
        const code = query.kind === "foreign" ? "ForeignProviderID" : "InvalidProviderID";
        invalidProviderIds.set(
          node,
          buildErrorResolution(code, `node ${node.metadata.name}: ${query.message}`),
        );
        break;
      }
    }
  }
  const [byId, byAddress, byName] = await Promise.all([
    resolveById(ids, session, cluster, ahead, read),
    resolveFargate(addresses, session, cluster),
    resolveByName(namedNodes, session, cluster, ahead),
    ahead?.lookAtLaunches?.({ byID: ids.size, byName: namedNodes.length }, session, cluster),
  ]);
  const all = new Map([...invalidProviderIds, ...byId, ...byAddress, ...byName.resolved]);
  return resolveDisputes(all, byName.guesses);
}

/**
 * Two nodes of a batch may be one instance: a node that rejoined under another name leaves its old object.
 * But if a guess alone found it for one node, another node's claim disproves the guess.
 */
function resolveDisputes(resolutions: Resolutions, guesses: ReadonlySet<Node>): Resolutions {
  const claims = new Map<string, Node[]>();
  for (const [node, resolution] of resolutions) {
    if (resolution.kind !== "instance") continue;
    claims.set(resolution.found.id, [...(claims.get(resolution.found.id) ?? []), node]);
  }
  const corrected = new Map(resolutions);
  for (const [id, claimants] of claims) {
    if (claimants.length < 2) continue;
    const names = claimants.map((node) => node.metadata.name).toSorted();
    for (const node of claimants.filter((each) => guesses.has(each))) {
      const message = `node ${node.metadata.name}: instance ${id} is claimed by ${names.join(" and ")}`;
      corrected.set(node, buildErrorResolution("Ambiguous", message));
    }
  }
  return corrected;
}

async function resolveById(
  ids: ReadonlyMap<Node, string>,
  session: Session,
  ownership: Ownership,
  ahead: LookAhead | undefined,
  read: ReadById,
): Promise<Resolutions> {
  const taken = ahead?.takeByID(ids.values()) ?? new Map<string, FoundInstance>();
  const found = await read(new Map([...ids].filter(([, id]) => !taken.has(id))), session, ownership);
  const resolved = new Map(
    [...ids].map(([node, id]) => [
      node,
      found.get(node) ?? buildResolutionById(node, id, taken.get(id), ownership),
    ]),
  );
  ahead?.keepByID(ids, resolved);
  return resolved;
}

/**
 * Finds instances by id, 200 per request. The filter, unlike the parameter InstanceIds, skips unknown ids
 * instead of failing the request. It has no states, so that it finds terminated instances too.
 */
export const readById: ReadById = async (ids, session, ownership) => {
  const results = await Promise.all(
    splitIntoChunks([...ids.values()], countFreeFilterValues([])).map(async (chunk) =>
      groupById(chunk, await describeInstances(session, [{ Name: "instance-id", Values: chunk }])),
    ),
  );
  const byId = new Map(results.flatMap((each) => [...each]));
  return new Map(
    [...ids].map(([node, id]) => [node, buildResolutionById(node, id, byId.get(id), ownership)]),
  );
};

/**
 * Returns EC2's result for the requested ids; an id without a result does not exist. If the listing failed or
 * is incomplete, an error replaces the missing results.
 */
export function groupById(
  ids: readonly string[],
  listing: Outcome<Listing>,
): ReadonlyMap<string, FoundInstance | Resolution> {
  const replaceMissing = (resolution: Resolution) => ids.map((id) => [id, resolution] as const);
  if (listing.kind === "fault")
    return new Map(replaceMissing({ kind: "answer", answer: toErrorAnswer(listing.fault) }));
  const byId = listing.value.found.map((each) => [each.id, each] as const);
  const gap = findGap(listing.value);
  if (gap === undefined) return new Map(byId);
  const incomplete = buildErrorResolution(gap.code, gap.message);
  return new Map<string, FoundInstance | Resolution>([...replaceMissing(incomplete), ...byId]);
}

/**
 * Finds instances for nodes without provider ID, with each matcher in turn for the nodes still missing. A
 * node is "not found" only if no matcher found anything. `guesses` are the nodes that matched by less than
 * their own name.
 */
async function resolveByName(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
  ahead: LookAhead | undefined,
): Promise<{ readonly resolved: Resolutions; readonly guesses: ReadonlySet<Node> }> {
  const resolved = new Map<Node, Resolution>(ahead?.takeByName(nodes, cluster));
  const guesses = new Set<Node>();
  const foreign = new Map<Node, Resolution>();
  let pending = nodes.filter((node) => !resolved.has(node));
  for (const matcher of selectMatchers(cluster)) {
    if (pending.length === 0) break;
    const found = await findByMatcher(pending, matcher, session, cluster);
    // Only the exact name is kept: a guess may be another node's instance.
    if (matcher === PRIVATE_DNS_NAME) ahead?.keepByName(pending, found);
    for (const [node, resolution] of found) {
      // A foreign instance found by one matcher says nothing about the others. The search must not end early:
      // its duration would tell a node that names the instance that it exists.
      if (isForeign(resolution)) {
        foreign.set(node, resolution);
        continue;
      }
      resolved.set(node, resolution);
      if (matcher.isGuess) guesses.add(node);
    }
    pending = pending.filter((node) => !resolved.has(node));
  }
  const matcherNames = selectMatchers(cluster).map((matcher) => matcher.name);
  for (const node of pending) {
    const notFound = buildNotFound(
      `node ${node.metadata.name}: EC2 has no instance by ${matcherNames.join(" or ")}`,
    );
    resolved.set(node, foreign.get(node) ?? notFound);
  }
  return { resolved, guesses };
}

/** Returns resolutions of the nodes for which this matcher found anything. */
async function findByMatcher(
  nodes: readonly Node[],
  matcher: NodeMatcher,
  session: Session,
  cluster: AwsCluster,
): Promise<Resolutions> {
  const keys = new Map(nodes.map((node) => [node, matcher.listNodeKeys(node, cluster.region)]));
  const { found, faults } = await findCandidates([...keys.values()].flat(), matcher, session, cluster);
  const resolutions = [...keys].flatMap(([node, nodeKeys]): [Node, Resolution][] => {
    const search = `node ${node.metadata.name}, looked for by ${matcher.name} ${nodeKeys.join(", ")}`;
    const fault = nodeKeys.map((key) => faults.get(key)).find((each) => each !== undefined);
    if (fault !== undefined) {
      const answer = toErrorAnswer({ ...fault, message: `${search}: ${fault.message}` });
      return [[node, { kind: "answer", answer }]];
    }
    const all = new Map(nodeKeys.flatMap((key) => found.get(key) ?? []).map((each) => [each.id, each]));
    const resolution = chooseInstance([...all.values()], cluster, search);
    return resolution === undefined ? [] : [[node, resolution]];
  });
  return new Map(resolutions);
}

function isForeign(resolution: Resolution): boolean {
  return (
    resolution.kind === "answer" && resolution.answer.kind === "error" && resolution.answer.code === "Foreign"
  );
}
