import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";
import { AwsError, type FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { auditForAnHour } from "#test/clouds/aws/load-balancers/network/audit.ts";
import {
  buildDeletionQuestion,
  buildInstance,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

/** A life of a Service: its desired states in order, each until it is settled. */
interface Life {
  readonly name: string;
  readonly settings: Settings;
  readonly asked: readonly LoadBalancerQuestion[];
}

const two = { ports: [port(80, 30080), port(53, 30053, "UDP")] };
const instances = {
  "i-1": buildInstance(),
  "i-2": buildInstance({ zone: "eu-central-1b" }),
  "i-3": buildInstance(),
};
const all = buildNodes("i-1", "i-2", "i-3");

const LIVES: readonly Life[] = [
  {
    name: "created and deleted",
    settings: buildSettings(),
    asked: [buildQuestion(buildService(two), all), buildDeletionQuestion(buildService(two))],
  },
  {
    name: "with a security group of its own, changed to one of the operator's, and back, and deleted",
    settings: buildSettings({ nlbSecurityGroupMode: "Managed" }),
    asked: [
      buildQuestion(buildService(two), all),
      buildQuestion(buildService(two, { "security-groups": "sg-nodes" }), all),
      buildQuestion(buildService(two), all),
      buildDeletionQuestion(buildService(two)),
    ],
  },
  {
    name: "ports, protocols and health checks changed",
    settings: buildSettings(),
    asked: [
      buildQuestion(buildService(), all),
      buildQuestion(
        buildService({ ports: [port(81, 30080), port(443, 30443)] }, { "healthcheck-protocol": "http" }),
        all,
      ),
      buildQuestion(
        buildService(
          { ports: [port(443, 30443)] },
          {
            "ssl-cert": certificate(),
            "backend-protocol": "ssl",
            "target-group-attributes": "proxy_protocol_v2.enabled=true",
            "additional-resource-tags": "team=web",
          },
        ),
        buildNodes("i-2"),
      ),
      buildQuestion(buildService({ ports: [port(443, 30444)] }), all),
      buildDeletionQuestion(buildService()),
    ],
  },
  {
    name: "given two target group attributes that it loses one by one",
    settings: buildSettings(),
    asked: [
      ...[
        "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true",
        "preserve_client_ip.enabled=false",
        "proxy_protocol_v2.enabled=true",
      ].map((attributes) => buildQuestion(buildService({}, { "target-group-attributes": attributes }), all)),
      buildQuestion(buildService(), all),
      buildDeletionQuestion(buildService()),
    ],
  },
  {
    name: "tagged, tagged otherwise, and untagged again",
    settings: buildSettings(),
    asked: [
      buildQuestion(buildService(two, { "additional-resource-tags": "team=web,stage=test" }), all),
      buildQuestion(buildService(two, { "additional-resource-tags": "stage=live,unit=shop" }), all),
      buildQuestion(buildService(two), all),
      buildDeletionQuestion(buildService(two)),
    ],
  },
  {
    name: "to both families and back",
    settings: buildSettings(),
    asked: [
      buildQuestion(buildService(two), all),
      buildQuestion(
        buildService({ ...two, ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }),
        all,
      ),
      buildQuestion(buildService(two), all),
      buildDeletionQuestion(buildService(two)),
    ],
  },
  {
    name: "with the group that all share",
    settings: buildSettings({ sharedBackendSecurityGroup: true }),
    asked: [buildQuestion(buildService(two), all), buildDeletionQuestion(buildService(two))],
  },
];

describe.each(LIVES)("a Service that is $name", (life) => {
  const whole = live(life);

  test("leaves nothing behind after the audits of an hour", () => {
    const { balancers, groups, listeners, rules } = whole.states.at(-1) as ReturnType<typeof picture>;
    expect({ balancers, groups, listeners }).toEqual({ balancers: [], groups: [], listeners: [] });
    expect(rules).toEqual([{ ...rules[0], name: "nodes", rules: [] }]);
  });

  test.each(Array.from({ length: whole.actions }, (_, k) => [k]))(
    "ends in the same state if the actor dies at action %i, before or after its answer",
    (k) => {
      expect(live(life, (done) => k - done).states).toEqual(whole.states);
    },
  );

  test.each([[1], [2], [3], [5]])("ends in the same state if each actor dies after %i actions", (k) => {
    expect(live(life, () => k).states).toEqual(whole.states);
  });

  test.each(Array.from({ length: 6 }, (_, k) => [k + 1]))(
    "ends in the same state with two concurrent actors, one %i actions ahead",
    (ahead) => {
      expect(interleaved(life, ahead)).toEqual(whole.states);
    },
  );
});

function port(number: number, nodePort: number, protocol = "TCP") {
  return { name: `p${number}`, protocol, port: number, nodePort };
}

function certificate(): string {
  return "arn:aws:acm:eu-central-1:123456789012:certificate/0123";
}

/**
 * Lives a life. With `budget`, the actor dies after as many actions as `budget` returns for the number done,
 * and another begins.
 */
function live(
  life: Life,
  budget?: (done: number) => number,
): { readonly actions: number; readonly states: readonly unknown[] } {
  const aws = createNetworkWorld({ instances });
  const states: unknown[] = [];
  for (const asked of life.asked) {
    for (let start = 0; budget !== undefined && start < 60; start += 1)
      if (run(aws, asked, life.settings, budget(aws.done.length))) break;
    converge(aws, asked, life.settings);
    states.push(picture(aws));
  }
  return { actions: aws.done.length, states: [...states, audited(aws, life.settings)] };
}

/** Carries out so many actions and dies, or ends early if nothing is left to do. */
function run(aws: FakeElbv2, asked: LoadBalancerQuestion, of: Settings, budget: number): boolean {
  let left = budget;
  let observed: unknown = observe(aws, asked, of);
  for (;;) {
    const step = model.planStep(asked, observed, of);
    if (step.kind !== "act") return true;
    for (const action of step.actions) {
      if (left <= 0) return budget <= 0;
      observed = model.applyResult(observed, action, aws.apply(action));
      left -= 1;
    }
  }
}

/** Interleaves two independent actors: each acts on its own observation and observes again after an error. */
function interleaved(life: Life, ahead: number): readonly unknown[] {
  const aws = createNetworkWorld({ instances });
  const states: unknown[] = [];
  for (const asked of life.asked) {
    const first = stepper(aws, asked, life.settings);
    const second = stepper(aws, asked, life.settings);
    for (let turn = 0; turn < ahead; turn += 1) first();
    for (let turn = 0; turn < 200 && !(first() && second()); turn += 1);
    converge(aws, asked, life.settings);
    states.push(picture(aws));
  }
  return [...states, audited(aws, life.settings)];
}

/** Returns the state after the audits of an hour, which remove what load balancers shared. */
function audited(aws: FakeElbv2, of: Settings) {
  auditForAnHour(aws, of);
  return picture(aws);
}

/** Does one action a step; returns true once a new observation leaves nothing to do. */
function stepper(aws: FakeElbv2, asked: LoadBalancerQuestion, of: Settings): () => boolean {
  let observed: unknown = observe(aws, asked, of);
  return () => {
    const step = model.planStep(asked, observed, of);
    if (step.kind !== "act") {
      observed = observe(aws, asked, of);
      return model.planStep(asked, observed, of).kind !== "act";
    }
    const [action] = step.actions;
    try {
      observed = model.applyResult(observed, action, aws.apply(action));
    } catch (thrown) {
      if (!(thrown instanceof AwsError)) throw thrown;
      observed = observe(aws, asked, of);
    }
    return false;
  };
}

/** Returns the complete state without AWS's generated IDs. */
function picture(aws: FakeElbv2) {
  const names = new Map(
    [...aws.groups.values()].map(({ group }) => [group.TargetGroupArn, group.TargetGroupName]),
  );
  return {
    balancers: [...aws.balancers.values()].map(({ loadBalancer, ...rest }) => ({
      ...rest,
      name: loadBalancer.LoadBalancerName,
      scheme: loadBalancer.Scheme,
      zones: loadBalancer.AvailabilityZones,
      type: loadBalancer.IpAddressType,
      groups: loadBalancer.SecurityGroups?.length,
    })),
    groups: [...aws.groups.values()]
      .map(({ group, tags, targets, attributes }) => ({
        ...{ ...group, TargetGroupArn: undefined },
        tags,
        attributes,
        targets: targets.map(({ Id }) => Id).sort(),
      }))
      .sort((one, other) => ((one.TargetGroupName ?? "") < (other.TargetGroupName ?? "") ? -1 : 1)),
    listeners: [...aws.listeners.values()]
      .map(({ listener, tags }) => ({
        port: listener.Port,
        protocol: listener.Protocol,
        certificates: listener.Certificates ?? [],
        to: names.get(listener.DefaultActions?.[0]?.TargetGroupArn),
        tags,
      }))
      .sort((one, other) => (one.port ?? 0) - (other.port ?? 0)),
    rules: aws.vpc.groups
      .map(({ group, tags, ingress }) => ({ name: group.GroupName, tags, rules: rulesIn(ingress, aws) }))
      .sort((one, other) => ((one.name ?? "") < (other.name ?? "") ? -1 : 1)),
  };
}

function rulesIn(ingress: FakeElbv2["vpc"]["groups"][number]["ingress"], aws: FakeElbv2): string[] {
  const nameOf = (id: string | undefined) =>
    aws.vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName;
  return ingress
    .flatMap(({ IpProtocol, FromPort, ToPort, IpRanges = [], Ipv6Ranges = [], UserIdGroupPairs = [] }) =>
      [
        ...IpRanges.map(({ CidrIp, Description }) => `${CidrIp} ${Description}`),
        ...Ipv6Ranges.map(({ CidrIpv6, Description }) => `${CidrIpv6} ${Description}`),
        ...UserIdGroupPairs.map(({ GroupId, Description }) => `${nameOf(GroupId)} ${Description}`),
      ].map((from) => `${IpProtocol} ${FromPort}-${ToPort} ${from}`),
    )
    .sort();
}
