import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import type { AwsWorld } from "#clouds/aws/capability.ts";
import {
  clusterCredentials,
  purposeIn,
  type SessionOptions,
  shareCredentials,
} from "#clouds/aws/cluster-credentials.ts";
import { findControls } from "#clouds/aws/control.ts";
import { createEc2, type Ec2 } from "#clouds/aws/ec2.ts";
import { answerOf } from "#clouds/aws/errors.ts";
import { type Facts, factsOfInstance, factsOfInterface } from "#clouds/aws/instance.ts";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { askAhead, type LabelSources, withLabels } from "#clouds/aws/labels.ts";
import { quotasWith } from "#clouds/aws/quota-settings.ts";
import { renewedEc2 } from "#clouds/aws/renewed-ec2.ts";
import { resolve } from "#clouds/aws/resolve.ts";
import { createSession, type Session } from "#clouds/aws/session.ts";
import type { SessionPurpose } from "#clouds/aws/session-policy.ts";
import { findSuccessors } from "#clouds/aws/successors.ts";
import { createTopology } from "#clouds/aws/topology.ts";
import { createZones } from "#clouds/aws/zones.ts";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { loadedCapability } from "#clouds/loaded-capability.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";
import type { InstanceAnswer, PositiveControl } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** The world of an AWS cloud, where it is not the real one. */
export interface AwsCloudOptions extends SessionOptions {
  /** Stands in the name of the role's session, which the account's audit trail shows, and for `clusterTag` where there is none. */
  readonly clusterName?: string;
  readonly ec2?: Ec2;
  readonly sleep?: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
}

/** AWS: one account and region; instances by EC2's API alone, and load balancers, routes and tags where they are asked for. Budget and caches live as long as what is returned. */
export function createAwsCloud(config: AwsCloudConfig, options: AwsCloudOptions = {}): Cloud {
  const { sleep = sleepFor, now = () => performance.now(), wallClock = Date.now } = options;
  const { clusterName } = options;
  const cluster: AwsCluster = { ...config, clusterName };
  const sessionName = clusterName ?? config.clusterTag ?? config.vpc ?? config.region;
  const sessions = new Map<SessionPurpose, ReturnType<typeof shareCredentials>>();
  const credentialsFor = (own: SessionPurpose): AwsWorld["credentials"] => {
    const purpose = purposeIn(options.functionName, own);
    const shared =
      sessions.get(purpose) ??
      shareCredentials(() =>
        clusterCredentials(cluster, { ...options, name: sessionName, purpose }, wallClock),
      );
    sessions.set(purpose, shared);
    return shared();
  };
  const credentials = credentialsFor("node");
  const make = (): Ec2 => createEc2(config.region, credentials());
  const ec2 = options.ec2 ?? renewedEc2(make, wallClock);
  const budget = createBudget(now, quotasWith(config.quotas));
  const sources: LabelSources = {
    zones: createZones(now),
    topology: createTopology(config.topologyInstanceTypePattern, now),
    wallClock,
  };
  const worldOf = (own: SessionPurpose): AwsWorld => {
    return { cluster, budget, sleep, now, wallClock, credentials: credentialsFor(own) };
  };
  // Not in the bundles of functions that have no use for them (build/build.ts).
  const loadBalancers = loadedCapability(async () => {
    const { createLoadBalancers } = await import("#clouds/aws/load-balancers/capability.ts");
    return createLoadBalancers(worldOf("service"));
  });
  const tags = loadedCapability(async () => {
    const { createTags } = await import("#clouds/aws/tags/capability.ts");
    return createTags({ ...worldOf("tagging"), ec2 });
  });
  const routes = loadedCapability(async () => {
    const { createRoutes } = await import("#clouds/aws/routes/capability.ts");
    return createRoutes(worldOf("route"), ec2);
  });
  return {
    provider: "aws",
    capabilities: { loadBalancers, routes, tags },
    async instances(nodes, call) {
      const { signal, share, onRequest } = call;
      // What was asked ahead of need, and not needed, ends with the batch: a function may be frozen after its answer.
      const done = new AbortController();
      const untilDone = AbortSignal.any([signal, done.signal]);
      const session = createSession({ ec2, budget, sleep, signal: untilDone, onRequest });
      const leave = budget.enter(share);
      try {
        const answers = await answer(nodes, session, cluster, sources, call);
        return { answers, usage: session.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        const unavailable: InstanceAnswer = { kind: "error", code: "Unavailable", message: `EC2: ${error}` };
        return { answers: nodes.map(() => unavailable), usage: session.usage() };
      } finally {
        leave();
        done.abort();
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

async function answer(
  nodes: readonly Node[],
  session: Session,
  cluster: AwsCluster,
  sources: LabelSources,
  { control: isControlWanted, labels: wanted }: Pick<CloudCall, "control" | "labels">,
): Promise<InstanceAnswer[]> {
  askAhead(nodes, session, sources, wanted);
  const answers = new Map<Node, InstanceAnswer>();
  const facts = new Map<Node, Facts>();
  const resolutions = await resolve(nodes, session, cluster);
  for (const [node, resolution] of resolutions) {
    if (resolution.kind === "answer") {
      answers.set(node, resolution.answer);
      continue;
    }
    const described =
      resolution.kind === "instance"
        ? factsOfInstance(resolution.found, node, cluster)
        : factsOfInterface(resolution.eni, node, cluster);
    if (described.kind === "ok") facts.set(node, described.value);
    else answers.set(node, answerOf(described.fault));
  }
  const [labelled, successors, controls] = await Promise.all([
    withLabels(facts, session, sources, wanted),
    findSuccessors(resolutions, session, cluster),
    isControlWanted ? findControls(resolutions, session, cluster) : undefined,
  ]);
  for (const [node, found] of labelled) answers.set(node, found);
  // That an instance is gone is half of an answer: a node that lives on in another machine must not be taken for a dead one.
  for (const [node, fault] of successors.faults) answers.set(node, answerOf(fault));
  return nodes.map((node) =>
    withEvidence(answers.get(node) ?? UNANSWERED, {
      control: controls?.get(node),
      takenOverBy: successors.found.get(node),
    }),
  );
}

/** What was found beside the node's own instance belongs to the answer that it is gone. */
function withEvidence(
  answer: InstanceAnswer,
  {
    control,
    takenOverBy,
  }: { readonly control: PositiveControl | undefined; readonly takenOverBy: string | undefined },
): InstanceAnswer {
  const isTakenOver = takenOverBy === undefined ? {} : { takenOverBy };
  switch (answer.kind) {
    case "not-found":
      return { ...answer, ...(control === undefined ? {} : { control }), ...isTakenOver };
    case "found":
      return { ...answer, ...isTakenOver };
    case "error":
      return answer;
  }
}

const UNANSWERED: InstanceAnswer = { kind: "error", code: "Unavailable", message: "EC2: no answer" };
