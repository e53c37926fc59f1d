import { applyClassicResult } from "#clouds/aws/load-balancers/classic/apply-result.ts";
import { planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import type { AwsLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { applyVpcResult } from "#clouds/aws/load-balancers/vpc/apply-result.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { LoadBalancerAction, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { CERTIFICATES, FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";
import { Refusal } from "#test/clouds/aws/load-balancers/classic/fake-groups.ts";

export const UID = "0b2d5f6c-7a8e-4f0a-9b1c-2d3e4f5a6b7c";
export const NAME = "a0b2d5f6c7a8e4f0a9b1c2d3e4f5a6b7";
export const HOSTNAME = `${NAME}-1234.eu-central-1.elb.amazonaws.com`;
export const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** Builds the settings of the cluster's cloud; `change` overrides them. */
export function buildSettings(change: Readonly<Record<string, unknown>> = {}): Settings {
  const allow = {
    securityGroups: ["sg-byo", "sg-extra"],
    subnets: [],
    elasticIPs: [],
    certificates: CERTIFICATES,
    buckets: ["logs"],
  };
  return { ...DEFAULT_SETTINGS, cloud: { provider: "aws", clusterTag: "prod", allow, ...change } };
}

/**
 * Creates a VPC with a public and a private subnet in each of two zones, three nodes, and groups that
 * Services may name.
 */
export function createClassicWorld(): FakeElb {
  const elb = new FakeElb();
  elb.subnets = [
    subnet("subnet-a", "eu-central-1a", true),
    subnet("subnet-a2", "eu-central-1a", true),
    subnet("subnet-b", "eu-central-1b", true),
    subnet("subnet-b2", "eu-central-1b", true),
    subnet("subnet-c", "eu-central-1c", false),
  ];
  elb.security.add("sg-nodes", "nodes", { "kubernetes.io/cluster/prod": "owned" });
  elb.security.add("sg-byo", "byo");
  elb.security.add("sg-extra", "extra");
  elb.security.add("sg-foreign", "foreign", { "kubernetes.io/cluster/other": "owned" });
  elb.security.add("sg-config", "configured");
  elb.instances = Object.fromEntries(
    ["i-1", "i-2", "i-3"].map((id) => [id, { state: "running", groupIds: ["sg-nodes"] }]),
  );
  return elb;
}

function subnet(SubnetId: string, AvailabilityZone: string, isPublic: boolean): SubnetState {
  return {
    subnet: { SubnetId, AvailabilityZone, CidrBlock: "10.0.0.0/24" },
    tags: { "kubernetes.io/cluster/prod": "shared", Name: `name of ${SubnetId}` },
    isPublic,
    zoneType: "availability-zone",
  };
}

/** How a Service differs from the default one with the single port 80. */
export interface ServiceInput {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly spec?: object | undefined;
  readonly nodes?: readonly string[] | undefined;
  readonly wanted?: boolean | undefined;
}

/** Builds annotations from the names without their prefix. */
export function buildAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).map(([suffix, value]) => [PREFIX + suffix, value]));
}

export function buildQuestion({
  annotations = {},
  spec = {},
  nodes,
  wanted = true,
}: ServiceInput = {}): LoadBalancerQuestion {
  const service = Service.parse({
    metadata: {
      namespace: "shop",
      name: "web",
      uid: UID,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations,
    },
    spec: { type: "LoadBalancer", ports: [{ name: "http", port: 80, nodePort: 30_080 }], ...spec },
  });
  const ids = wanted ? (nodes ?? ["i-1", "i-2", "i-3"]) : [];
  return {
    service,
    wanted,
    nodes: ids.map((id) => ({ name: `node-${id}`, providerID: `aws:///eu-central-1a/${id}` })),
  };
}

/** Returns the observation after an action, as AWS's model applies the result. */
export function applyActionResult(
  state: AwsLoadBalancerState,
  action: LoadBalancerAction,
  result: unknown,
): AwsLoadBalancerState {
  const { classic: before, ...rest } = state;
  const classic = applyClassicResult(before, action, result);
  return {
    ...rest,
    vpc: applyVpcResult(rest.vpc, action, result),
    ...(classic === undefined ? {} : { classic }),
  };
}

/** The end of a run that was cut off. */
export class KilledError extends Error {}

/** How a run proceeds. */
export interface Run {
  readonly settings?: Settings;
  /** How many actions are carried out before the run is cut off. */
  readonly actions?: number;
  /** Whether results of actions are applied to the observation while nothing fails. */
  readonly isFolded?: boolean;
  /** Whether another actor changes the same resources, so that the observation may be out of date. */
  readonly isContended?: boolean;
  /** The desired state has changed: the guard ends the run after the first round. */
  readonly isOutdated?: boolean;
}

/** Observes, decides and acts until nothing is left to do; returns the last step. */
export function converge(elb: FakeElb, asked: LoadBalancerQuestion, run: Run = {}): LoadBalancerStep {
  const rounds = createTurns(elb, asked, run);
  for (;;) {
    const turn = rounds.next();
    if (turn.done === true) return turn.value;
  }
}

/**
 * Runs as `converge`, but yields before each action and each observation, so that another run can interleave.
 */
export function* createTurns(
  elb: FakeElb,
  asked: LoadBalancerQuestion,
  {
    settings: given = buildSettings(),
    actions = Number.POSITIVE_INFINITY,
    isFolded = false,
    isContended = false,
    isOutdated = false,
  }: Run = {},
): Generator<undefined, LoadBalancerStep, undefined> {
  let left = actions;
  for (let round = 0; round < 40; round += 1) {
    yield;
    let state = elb.observe(NAME);
    for (;;) {
      const step = planClassic(asked, state, given);
      if (step.kind === "settled" && isFolded && !isContended && elb.lag.invisible === 0) {
        const again = planClassic(asked, elb.observe(NAME), given);
        if (again.kind === "act")
          throw new Error(`folded: settled; observed: ${JSON.stringify(again.actions)}`);
      }
      if (step.kind !== "act" && step.kind !== "wait") return step;
      const after = step.kind === "act" ? yield* carriedOut(elb, state, step.actions) : undefined;
      if (isOutdated) return step;
      if (after === undefined || !isFolded) break;
      state = after;
    }
  }
  throw new Error(`not settled after 40 rounds; the last were ${elb.done.slice(-10).join()}`);

  function* carriedOut(
    world: FakeElb,
    before: AwsLoadBalancerState,
    list: readonly LoadBalancerAction[],
  ): Generator<undefined, AwsLoadBalancerState | undefined, undefined> {
    let state = before;
    for (const action of list) {
      yield;
      if (left === 0) throw new KilledError();
      left -= 1;
      try {
        state = applyActionResult(state, JSON.parse(JSON.stringify(action)), world.act(action));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (!PASSING.has(error.code) && !(isContended && STALE.has(error.code))) throw error;
        return undefined;
      }
    }
    return state;
  }
}

/** Passing errors: another actor was faster, or AWS is not ready yet. */
const PASSING: ReadonlySet<string> = new Set([
  "DependencyViolation",
  "DuplicateLoadBalancerName",
  "DuplicateListener",
  "DuplicatePolicyName",
  "InvalidGroup.Duplicate",
  "InvalidGroup.NotFound",
  "InvalidPermission.Duplicate",
  "InvalidPermission.NotFound",
  "InvalidSecurityGroup",
  "LoadBalancerNotFound",
  "ListenerNotFound",
]);

/** AWS's errors for a request that was right when it was decided. */
const STALE: ReadonlySet<string> = new Set(["InvalidConfigurationRequest", "PolicyNotFound"]);

/**
 * Returns everything about load balancers in one order, without invisible remains of an earlier desired
 * state.
 */
export function describeLoadBalancers(elb: FakeElb): object {
  const classics = [...elb.classics.values()].map(({ loadBalancer, tags, attributes }) => ({
    ...loadBalancer,
    ListenerDescriptions: (loadBalancer.ListenerDescriptions ?? []).toSorted(
      (a, b) => (a.Listener?.LoadBalancerPort ?? 0) - (b.Listener?.LoadBalancerPort ?? 0),
    ),
    BackendServerDescriptions: sorted(loadBalancer.BackendServerDescriptions ?? []),
    Subnets: sorted(loadBalancer.Subnets ?? []),
    SecurityGroups: sorted((loadBalancer.SecurityGroups ?? []).map((id) => nameOf(elb, id))),
    Instances: sorted(loadBalancer.Instances ?? []),
    tags,
    attributes: { ...attributes, ConnectionDraining: attributes?.ConnectionDraining?.Enabled },
  }));
  const groups = [...elb.security.groups.values()].map(({ group, tags, ingress }) => ({
    name: group.GroupName,
    tags,
    rules: sorted(parsePermissions(ingress).map((rule) => ({ ...rule, peer: nameOf(elb, rule.peer) }))),
  }));
  return { classics, groups: sorted(groups) };
}

function nameOf(elb: FakeElb, id: string): string {
  return elb.security.groups.get(id)?.group.GroupName ?? id;
}

function sorted<Item>(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => (formatCanonicalJson(a) < formatCanonicalJson(b) ? -1 : 1));
}
