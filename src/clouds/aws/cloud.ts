import { createBudget } from "#clouds/aws/budget.ts";
import { findCandidates } from "#clouds/aws/candidates.ts";
import {
  createClusterCredentials,
  type SessionOptions,
  shareCredentials,
} from "#clouds/aws/cluster-credentials.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { createEc2, type Ec2 } from "#clouds/aws/ec2.ts";
import { type Fault, toErrorAnswer } from "#clouds/aws/errors.ts";
import { buildInstanceFacts, buildInterfaceFacts, type InstanceFacts } from "#clouds/aws/instance.ts";
import { addLabels, type LabelSources, prefetchZoneIds } from "#clouds/aws/labels.ts";
import type { SelectLookAhead } from "#clouds/aws/look-ahead/look-ahead.ts";
import { PRIVATE_DNS_NAME } from "#clouds/aws/node-matchers.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isInstanceId } from "#clouds/aws/provider-id.ts";
import { buildQuotas } from "#clouds/aws/quotas.ts";
import { createRenewableClient } from "#clouds/aws/renewable-client.ts";
import {
  isClusterInstance,
  isMissingOrForeign,
  type Resolution,
  type Resolutions,
} from "#clouds/aws/resolution.ts";
import { type LookAhead, type ReadById, resolve } from "#clouds/aws/resolve.ts";
import { type AwsDependencies, createSession, type Session } from "#clouds/aws/session.ts";
import { type SessionPurpose, selectPurpose } from "#clouds/aws/session-purpose.ts";
import { createTopology } from "#clouds/aws/topology.ts";
import { findVisibilityProbes } from "#clouds/aws/visibility-probe.ts";
import { createZones, type Zones } from "#clouds/aws/zones.ts";
import type { Cloud, CloudCall, InstancesResult } from "#clouds/cloud.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** Dependencies of an AWS cloud that tests replace. */
export interface AwsCloudOptions extends SessionOptions {
  /**
   * Part of the role session's name in the account's audit trail; replaces `clusterTag` if that is not
   * configured.
   */
  readonly clusterName?: string;
  readonly ec2?: Ec2;
  /** Cached ids of zones, if several clusters of one principal share them; otherwise the cloud has its own. */
  readonly zones?: Zones;
  readonly sleep?: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
}

/** A call of an AWS cloud whose look-ups by id may be made together with those of other clusters. */
export interface AwsCloudCall extends CloudCall {
  /** Replaces the batch's own requests for instances by id. */
  readonly readById?: ReadById;
}

/** A cloud on AWS. */
export interface AwsCloud extends Cloud {
  instances(nodes: readonly Node[], call: AwsCloudCall): Promise<InstancesResult>;
}

/**
 * Creates the cloud of one AWS account and region. Instances need EC2's API only; load balancers, routes and
 * tags are loaded on demand. Budget and caches live as long as the returned object.
 */
export function createAwsCloud(config: AwsCloudConfig, options: AwsCloudOptions = {}): AwsCloud {
  const { sleep = sleepFor, now = () => performance.now(), wallClock = Date.now } = options;
  const { clusterName } = options;
  const cluster: AwsCluster = { ...config, clusterName };
  const sessionName = clusterName ?? config.clusterTag ?? config.vpc ?? config.region;
  const sessions = new Map<SessionPurpose, ReturnType<typeof shareCredentials>>();
  const credentialsFor = (defaultPurpose: SessionPurpose): AwsDependencies["credentials"] => {
    const purpose = selectPurpose(options.functionName, defaultPurpose);
    const shared =
      sessions.get(purpose) ??
      shareCredentials(() =>
        createClusterCredentials(cluster, { ...options, name: sessionName, purpose }, wallClock),
      );
    sessions.set(purpose, shared);
    return shared();
  };
  const credentials = credentialsFor("node");
  const createClient = (): Ec2 => createEc2(config.region, credentials());
  const ec2 = options.ec2 ?? createRenewableEc2(createClient, wallClock);
  const budget = createBudget(now, buildQuotas(config.quotas));
  let lookAheads: Promise<SelectLookAhead> | undefined;
  const sources: LabelSources = {
    zones: options.zones ?? createZones(now),
    topology: createTopology(config.topologyInstanceTypePattern, now),
    wallClock,
  };
  const dependenciesFor = (capability: SessionPurpose): AwsDependencies => {
    const credentials = credentialsFor(capability);
    return { cluster, budget, sleep, now, wallClock, credentials };
  };
  // Excluded from bundles of functions that do not need them (build/leave-out-plugin.ts).
  const loadBalancers = createLazyCapability(async () => {
    const { createLoadBalancers } = await import("#clouds/aws/load-balancers/capability.ts");
    return createLoadBalancers(dependenciesFor("load-balancers"));
  });
  const tags = createLazyCapability(async () => {
    const { createTags } = await import("#clouds/aws/tags/capability.ts");
    return createTags({ ...dependenciesFor("tags"), ec2 });
  });
  const routes = createLazyCapability(async () => {
    const { createRoutes } = await import("#clouds/aws/routes/capability.ts");
    return createRoutes(dependenciesFor("routes"), ec2);
  });
  const selectLookAhead = async ({ ahead: mode, launches }: CloudCall): Promise<LookAhead | undefined> => {
    if (mode === undefined) return undefined;
    lookAheads ??= import("#clouds/aws/look-ahead/look-ahead.ts").then(({ createLookAheads }) =>
      createLookAheads({ now, wallClock }),
    );
    return (await lookAheads)(mode, launches === true);
  };
  return {
    provider: "aws",
    capabilities: { loadBalancers, routes, tags },
    async instances(nodes, call) {
      const { signal, share, onRequest } = call;
      // Requests sent ahead of need end with the batch: a function may be frozen after its answer.
      const batchEnd = new AbortController();
      const untilBatchEnd = AbortSignal.any([signal, batchEnd.signal]);
      const session = createSession({ ec2, budget, sleep, signal: untilBatchEnd, onRequest });
      const leave = budget.enter(share);
      try {
        const answers = await resolveAnswers(nodes, session, cluster, sources, {
          ...call,
          ahead: await selectLookAhead(call),
        });
        return { answers, usage: session.getUsage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        const unavailable: InstanceAnswer = { kind: "error", code: "Unavailable", message: `EC2: ${error}` };
        return { answers: nodes.map(() => unavailable), usage: session.getUsage() };
      } finally {
        leave();
        batchEnd.abort();
      }
    },
    async close() {
      ec2.close();
      loadBalancers.close();
      tags.close();
      routes.close();
    },
  };
}

type ResolveOptions = Pick<AwsCloudCall, "control" | "labels" | "readById"> & {
  readonly ahead: LookAhead | undefined;
};

async function resolveAnswers(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
  sources: LabelSources,
  { control: isControlWanted, labels: selection, ahead, readById }: ResolveOptions,
): Promise<InstanceAnswer[]> {
  prefetchZoneIds(nodes, session, sources, selection);
  const answers = new Map<Node, InstanceAnswer>();
  const facts = new Map<Node, InstanceFacts>();
  const resolutions = await resolve(nodes, session, cluster, ahead, readById);
  for (const [node, resolution] of resolutions) {
    if (resolution.kind === "answer") {
      answers.set(node, resolution.answer);
      continue;
    }
    const described =
      resolution.kind === "instance"
        ? buildInstanceFacts(resolution.found, node, cluster)
        : buildInterfaceFacts(resolution.eni, node, cluster);
    if (described.kind === "ok") facts.set(node, described.value);
    else answers.set(node, toErrorAnswer(described.fault));
  }
  const [labelled, replacements, probes] = await Promise.all([
    addLabels(facts, session, sources, selection),
    findReplacementInstances(resolutions, session, cluster),
    isControlWanted ? findVisibilityProbes(resolutions, session, cluster) : undefined,
  ]);
  for (const [node, labelledAnswer] of labelled) answers.set(node, labelledAnswer);
  // A missing instance is half of an answer: a node that lives on in another machine must not count as
  // deleted.
  for (const [node, fault] of replacements.faults) answers.set(node, toErrorAnswer(fault));
  return nodes.map((node) =>
    addEvidence(answers.get(node) ?? UNANSWERED, {
      control: probes?.get(node),
      takenOverBy: replacements.found.get(node),
    }),
  );
}

/** Adds the visibility probe and replacement instances to a "not found" answer. */
function addEvidence(
  answer: InstanceAnswer,
  {
    control,
    takenOverBy,
  }: { readonly control: VisibilityProbe | undefined; readonly takenOverBy: string | undefined },
): InstanceAnswer {
  const takeover = takenOverBy === undefined ? {} : { takenOverBy };
  switch (answer.kind) {
    case "not-found":
      return { ...answer, ...(control === undefined ? {} : { control }), ...takeover };
    case "found":
      return { ...answer, ...takeover };
    case "error":
      return answer;
  }
}

const UNANSWERED: InstanceAnswer = { kind: "error", code: "Unavailable", message: "EC2: no answer" };

/**
 * Creates EC2 operations whose client is replaced if its credentials are rejected. `wallClock` is
 * milliseconds since the epoch.
 */
function createRenewableEc2(createClient: () => Ec2, wallClock: () => number): Ec2 {
  const { send, close } = createRenewableClient(createClient, wallClock);
  return {
    describeInstances: (request, signal) => send((ec2) => ec2.describeInstances(request, signal)),
    describeNetworkInterfaces: (request, signal) =>
      send((ec2) => ec2.describeNetworkInterfaces(request, signal)),
    describeAvailabilityZones: (request, signal) =>
      send((ec2) => ec2.describeAvailabilityZones(request, signal)),
    describeInstanceTopology: (request, signal) =>
      send((ec2) => ec2.describeInstanceTopology(request, signal)),
    close,
  };
}

/** The ids of replacement instances by node, and the faults of nodes for which they are unknown. */
interface ReplacementInstances {
  readonly found: ReadonlyMap<Node, string>;
  readonly faults: ReadonlyMap<Node, Fault>;
}

/**
 * Finds the replacement instances of nodes whose instance is gone: the cluster's running instance that now
 * has their private DNS name, by provider ID. EC2 reuses addresses and with them names. Uses one look-up for
 * all nodes, and none if there is no such node.
 */
async function findReplacementInstances(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<ReplacementInstances> {
  const names = new Map(
    [...resolutions].flatMap(([node, resolution]) =>
      isGone(resolution) && node.spec.providerID
        ? listPrivateDnsNames(node, cluster).map((name) => [node, name])
        : [],
    ) as [Node, string][],
  );
  const found = new Map<Node, string>();
  const faults = new Map<Node, Fault>();
  if (names.size === 0) return { found, faults };
  const candidates = await findCandidates([...names.values()], PRIVATE_DNS_NAME, session, cluster);
  for (const [node, name] of names) {
    const fault = candidates.faults.get(name);
    if (fault !== undefined) faults.set(node, fault);
    const running = (candidates.found.get(name) ?? []).filter(
      (each) => each.instance.State?.Name === "running" && isClusterInstance(each, cluster),
    );
    const [replacement, second] = running;
    if (replacement !== undefined && second === undefined) found.set(node, replacement.id);
  }
  return { found, faults };
}

/** A foreign instance is looked up too, so that the duration does not tell it from a missing one. */
function isGone(resolution: Resolution): boolean {
  return (
    isMissingOrForeign(resolution) ||
    (resolution.kind === "instance" && resolution.found.instance.State?.Name === "terminated")
  );
}

/**
 * A private DNS name has a domain. A name that begins with an instance id never belongs to another instance.
 */
function listPrivateDnsNames(node: Node, { region }: AwsCluster): readonly string[] {
  const { name } = node.metadata;
  const [label = "", domain] = name.split(".", 2);
  return domain === undefined || isInstanceId(label) ? [] : PRIVATE_DNS_NAME.listNodeKeys(node, region);
}
