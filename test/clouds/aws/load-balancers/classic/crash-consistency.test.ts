import { expect, test } from "vitest";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import {
  buildAnnotations,
  buildQuestion,
  converge,
  createClassicWorld,
  describeLoadBalancers,
  KilledError,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { CERTIFICATES, type FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const [ONE = "", TWO = ""] = CERTIFICATES;

const PLAIN = buildQuestion({});
const RICH = buildQuestion({
  annotations: buildAnnotations({
    "ssl-cert": ONE,
    "ssl-ports": "443",
    "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
    "proxy-protocol": "*",
    "connection-draining-enabled": "true",
    "additional-resource-tags": "Team=a",
    "extra-security-groups": "sg-extra",
    subnets: "subnet-a,subnet-b",
  }),
  spec: {
    ports: [
      { port: 80, nodePort: 30_080 },
      { port: 443, nodePort: 30_443 },
    ],
  },
});
const OTHER = buildQuestion({
  annotations: buildAnnotations({
    "ssl-cert": TWO,
    "ssl-ports": "443",
    "security-groups": "sg-byo",
    "healthcheck-protocol": "http",
    "additional-resource-tags": "Team=b,Cost=7",
    subnets: "subnet-a2,subnet-b2",
  }),
  spec: {
    ports: [
      { port: 443, nodePort: 30_444 },
      { port: 8_080, nodePort: 30_090 },
    ],
  },
  nodes: ["i-2"],
});
const TAGGED = buildQuestion({
  annotations: buildAnnotations({ "additional-resource-tags": "Team=a,Cost=7" }),
});
const RETAGGED = buildQuestion({
  annotations: buildAnnotations({ "additional-resource-tags": "Team=b,Owner=x" }),
});
const NONE = buildQuestion({ wanted: false });

const CHANGES: readonly (readonly [string, readonly LoadBalancerQuestion[], LoadBalancerQuestion])[] = [
  ["create", [], PLAIN],
  ["create with everything", [], RICH],
  ["update to everything", [PLAIN], RICH],
  ["update from everything", [RICH], PLAIN],
  ["update to other groups, subnets, listeners", [RICH], OTHER],
  ["update back", [OTHER], RICH],
  ["update of tags", [TAGGED], RETAGGED],
  ["delete", [RICH], NONE],
  ["delete with a security group of another owner", [OTHER], NONE],
];

const LAGS = [
  ["at once", { invisible: 0, inUse: 0 }],
  ["late", { invisible: 2, inUse: 3 }],
] as const;

function prepared(before: readonly LoadBalancerQuestion[], lag: FakeElb["lag"]): FakeElb {
  const elb = createClassicWorld();
  for (const asked of before) converge(elb, asked);
  elb.done.length = 0;
  elb.lag = { ...lag };
  return elb;
}

/** Sends so many actions and no more; returns whether more were left to send. */
function isCutOff(elb: FakeElb, asked: LoadBalancerQuestion, actions: number, isFolded: boolean): boolean {
  try {
    converge(elb, asked, { actions, isFolded });
    return false;
  } catch (error) {
    if (!(error instanceof KilledError)) throw error;
    return true;
  }
}

const TABLE = CHANGES.flatMap(([name, before, asked]) =>
  LAGS.flatMap(([when, lag]) =>
    [false, true].map((isFolded) => [name, when, isFolded, before, asked, lag] as const),
  ),
);

/** Yields runs that are cut off after 0, 1, 2 … actions, as long as more are left. */
function* cutOffs(
  before: readonly LoadBalancerQuestion[],
  asked: LoadBalancerQuestion,
  lag: FakeElb["lag"],
  isFolded: boolean,
): Generator<FakeElb> {
  for (let actions = 0; ; actions += 1) {
    const elb = prepared(before, lag);
    if (!isCutOff(elb, asked, actions, isFolded)) return;
    yield elb;
  }
}

test.each(TABLE)(
  "%s, seen %s, folded %s: killed after every action, it ends in the same state",
  (_, __, isFolded, before, asked, lag) => {
    const undisturbed = prepared(before, lag);
    const step = converge(undisturbed, asked, { isFolded });
    expect(step.kind).toBe("settled");

    const killed = [...cutOffs(before, asked, lag, isFolded)];
    expect(killed.length).toBeGreaterThanOrEqual(undisturbed.done.length);
    for (const elb of killed) {
      expect(converge(elb, asked)).toEqual(step);
      expect(describeLoadBalancers(elb)).toEqual(describeLoadBalancers(undisturbed));
    }
  },
);

test.each(TABLE)(
  "%s, seen %s, folded %s: nothing is left if the Service is deleted halfway",
  (_, __, isFolded, before, asked, lag) => {
    for (const elb of cutOffs(before, asked, lag, isFolded)) {
      expect(converge(elb, NONE)).toEqual({ kind: "settled", ingress: [], warnings: [] });
      expect(elb.classics.size).toBe(0);
      expect([...elb.security.groups.keys()].sort()).toEqual(
        [...createClassicWorld().security.groups.keys()].sort(),
      );
    }
  },
);
