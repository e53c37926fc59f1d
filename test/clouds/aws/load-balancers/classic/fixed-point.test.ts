import fc from "fast-check";
import { expect, test } from "vitest";
import { planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import { DEFAULT_TLS_POLICY, TLS_POLICY_PREFIX } from "#clouds/aws/load-balancers/classic/policies.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  createTurns,
  describeLoadBalancers,
  NAME,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import {
  CERTIFICATES,
  type FakeElb,
  TLS_POLICIES,
} from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const text = (...values: readonly string[]) => fc.constantFrom(...values);
const number = (from: number, to: number) => fc.integer({ min: from, max: to }).map(String);

const ANNOTATIONS = fc
  .record(
    {
      "additional-resource-tags": text("Team=a", "Team=b,Cost=7", "Cost=,Lone"),
      "proxy-protocol": text("*"),
      "access-log-enabled": text("true", "false"),
      "access-log-s3-bucket-prefix": text("web", "api"),
      "access-log-emit-interval": text("5", "60"),
      "connection-draining-enabled": text("true", "false"),
      "connection-draining-timeout": number(1, 3_600),
      "connection-idle-timeout": number(1, 4_000),
      "cross-zone-load-balancing-enabled": text("true", "0"),
      "security-groups": text("sg-byo", ""),
      "extra-security-groups": text("sg-extra", "sg-extra,sg-byo"),
      "ssl-cert": text(...CERTIFICATES),
      "ssl-ports": text("443", "80,https", "*"),
      "ssl-negotiation-policy": text(...TLS_POLICIES),
      "backend-protocol": text("http", "https", "ssl", "tcp"),
      "healthcheck-protocol": text("tcp", "HTTP", "https", "SSL"),
      "healthcheck-port": text("traffic-port", "8080"),
      "healthcheck-path": text("/", "/up"),
      "healthcheck-interval": number(10, 300),
      "healthcheck-timeout": number(2, 9),
      "healthcheck-healthy-threshold": number(2, 10),
      "healthcheck-unhealthy-threshold": number(2, 10),
    },
    { requiredKeys: [] },
  )
  .map((annotations) =>
    buildAnnotations({ "access-log-s3-bucket-name": "logs", ...(annotations as Record<string, string>) }),
  );

const WISH = fc
  .record({
    annotations: ANNOTATIONS,
    spec: fc.record({
      ports: fc.uniqueArray(
        fc.record({
          port: fc.constantFrom(80, 443, 8_080),
          nodePort: fc.constantFrom(30_080, 30_081, 30_082),
          name: fc.constantFrom("http", "https", "other"),
        }),
        { selector: ({ port }) => port, minLength: 1 },
      ),
      loadBalancerSourceRanges: fc.subarray(["10.0.0.0/8", "192.168.1.1/16"]),
    }),
    nodes: fc.subarray(["i-1", "i-2", "i-3"]),
    subnets: fc.constantFrom(
      undefined,
      "subnet-a",
      "subnet-a,subnet-b",
      "subnet-a2,subnet-b2",
      "subnet-b,subnet-c",
    ),
  })
  .map(({ subnets, annotations, ...rest }) =>
    buildQuestion({
      ...rest,
      annotations: { ...annotations, ...(subnets === undefined ? {} : buildAnnotations({ subnets })) },
    }),
  );

/**
 * Returns the state without intended remains of an earlier desired state: rules that allow others' groups,
 * and the name of AWS's default policy.
 */
function compared(elb: FakeElb): unknown {
  return JSON.parse(
    JSON.stringify(describeLoadBalancers(elb)).replaceAll(
      `${TLS_POLICY_PREFIX}${DEFAULT_TLS_POLICY}`,
      DEFAULT_TLS_POLICY,
    ),
    (key, value) => (key === "rules" ? value.filter(({ peer }: { peer: string }) => peer !== "byo") : value),
  );
}

test("from any state it reaches the desired state, stays there, and leaves nothing after deletion", () => {
  let settled = 0;
  fc.assert(
    fc.property(fc.array(WISH, { minLength: 1, maxLength: 3 }), fc.boolean(), (wishes, isFolded) => {
      const elb = createClassicWorld();
      const steps = wishes.map((wish) => converge(elb, wish, { isFolded }));
      const last = wishes.at(-1) as LoadBalancerQuestion;
      const done = elb.done.length;
      const again = planClassic(last, elb.observe(NAME), buildSettings());
      expect(again).toEqual(steps.at(-1));
      expect(elb.done).toHaveLength(done);
      if (again.kind === "settled") {
        settled += 1;
        const fresh = createClassicWorld();
        converge(fresh, last);
        expect(compared(elb)).toEqual(compared(fresh));
      }
      converge(elb, buildQuestion({ wanted: false }), { isFolded });
      expect(compared(elb)).toEqual(compared(createClassicWorld()));
    }),
    { numRuns: 150 },
  );
  expect(settled).toBeGreaterThan(120);
});

/**
 * Interleaves two runs in the order of `whose` until both are done; the first is outdated if its desired
 * state differs.
 */
function interleaved(
  elb: FakeElb,
  one: LoadBalancerQuestion,
  other: LoadBalancerQuestion,
  context: readonly boolean[],
): void {
  const runs = [one, other].map((asked, index) =>
    createTurns(elb, asked, { isFolded: true, isContended: true, isOutdated: index === 0 && one !== other }),
  );
  const open = new Set(runs);
  for (let turn = 0; open.size > 0; turn += 1) {
    const chosen = runs[context[turn % context.length] === true ? 0 : 1];
    const run = chosen !== undefined && open.has(chosen) ? chosen : [...open][0];
    if (run?.next().done === true) open.delete(run);
  }
}

const TURNS = fc.array(fc.boolean(), { minLength: 5, maxLength: 40 });

test("two concurrent runs with the same desired state end as one run alone", () => {
  fc.assert(
    fc.property(WISH, WISH, TURNS, (before, wish, context) => {
      const [elb, alone] = [createClassicWorld(), createClassicWorld()];
      for (const each of [elb, alone]) converge(each, before);
      interleaved(elb, wish, wish, context);
      converge(alone, wish);
      expect(describeLoadBalancers(elb)).toEqual(describeLoadBalancers(alone));
    }),
    { numRuns: 80 },
  );
});

test("a late run with an older desired state does no harm that the next resync does not repair", () => {
  fc.assert(
    fc.property(WISH, WISH, TURNS, (older, wish, context) => {
      const [elb, alone] = [createClassicWorld(), createClassicWorld()];
      interleaved(elb, older, wish, context);
      const step = converge(elb, wish);
      if (step.kind === "settled") {
        converge(alone, wish);
        expect(compared(elb)).toEqual(compared(alone));
      }
      interleaved(elb, wish, buildQuestion({ wanted: false }), context);
      converge(elb, buildQuestion({ wanted: false }));
      expect(compared(elb)).toEqual(compared(createClassicWorld()));
    }),
    { numRuns: 80 },
  );
});
