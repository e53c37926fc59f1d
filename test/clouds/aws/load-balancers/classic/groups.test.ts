import { expect, test } from "vitest";
import { planUnusedRules, readSharedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { buildPermissions, parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  HOSTNAME,
  NAME,
  PREFIX,
  type ServiceInput,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import type { FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const SETTLED = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
const OWN = `k8s-elb-${NAME}`;

/** Returns the load balancer's groups, and the groups that the nodes allow in, by name. */
function groups(elb: FakeElb) {
  const name = (id: string) => elb.security.groups.get(id)?.group.GroupName ?? id;
  const rules = (id: string) =>
    parsePermissions(elb.security.groups.get(id)?.ingress ?? []).map(({ peer }) => name(peer));
  return {
    attached: (elb.classics.get(NAME)?.loadBalancer.SecurityGroups ?? []).map(name),
    nodes: rules("sg-nodes"),
    own: [...elb.security.groups.values()].some(({ group }) => group.GroupName === OWN),
  };
}

const CONFIGURED = { elbSecurityGroup: "sg-config" };

test.each([
  ["none", {}, {}, { attached: [OWN], nodes: [OWN], own: true }],
  [
    "extra",
    { "extra-security-groups": "sg-extra" },
    {},
    { attached: [OWN, "extra"], nodes: [OWN], own: true },
  ],
  ["instead", { "security-groups": "sg-byo" }, {}, { attached: ["byo"], nodes: ["byo"], own: false }],
  [
    "instead and extra",
    { "security-groups": "sg-byo", "extra-security-groups": "sg-extra,sg-byo" },
    {},
    { attached: ["byo", "extra"], nodes: ["byo"], own: false },
  ],
  ["the configured one", {}, CONFIGURED, { attached: ["configured"], nodes: ["configured"], own: false }],
  [
    "the configured one and extra",
    { "extra-security-groups": "sg-extra" },
    CONFIGURED,
    { attached: ["configured", "extra"], nodes: ["configured"], own: false },
  ],
  [
    "instead of the configured one",
    { "security-groups": "sg-byo" },
    CONFIGURED,
    { attached: ["byo"], nodes: ["byo"], own: false },
  ],
  ["nothing on nodes", {}, { disableSecurityGroupIngress: true }, { attached: [OWN], nodes: [], own: true }],
] as const)("security groups: %s", (_, annotations, cloud, expected) => {
  const elb = createClassicWorld();
  const given = buildSettings(cloud);

  expect(
    converge(elb, buildQuestion({ annotations: buildAnnotations(annotations) }), { settings: given }),
  ).toEqual(SETTLED);
  expect(groups(elb)).toEqual(expected);

  converge(elb, buildQuestion({ wanted: false }), { settings: given });
  expect(groups(elb)).toMatchObject({ attached: [], own: false });
  for (const id of ["sg-byo", "sg-extra", "sg-config"])
    expect(elb.security.groups.get(id)?.ingress).toEqual([]);
});

test.each([
  ["to the annotation's", { "security-groups": "sg-byo" }, {}],
  ["to the configured one", {}, CONFIGURED],
] as const)(
  "its own group is removed when the Service changes %s, and is created again later",
  (_, annotations, cloud) => {
    const elb = createClassicWorld();
    converge(elb, buildQuestion({}));
    elb.done.length = 0;

    expect(
      converge(elb, buildQuestion({ annotations: buildAnnotations(annotations) }), {
        settings: buildSettings(cloud),
      }),
    ).toEqual(SETTLED);
    expect(groups(elb)).toMatchObject({ own: false });
    expect(groups(elb).nodes).not.toContain(OWN);
    // The nodes allow the new group before the load balancer has it, and the old one until it no longer has it.
    expect(elb.done).toEqual([
      "ec2:AuthorizeSecurityGroupIngress",
      "elb:ApplySecurityGroupsToLoadBalancer",
      "ec2:RevokeSecurityGroupIngress",
      "ec2:DeleteSecurityGroup",
    ]);

    expect(converge(elb, buildQuestion({}))).toEqual(SETTLED);
    expect(groups(elb)).toMatchObject({ attached: [OWN], own: true });
  },
);

test("the rules of its own group are exactly the ports from the source ranges, and path MTU discovery", () => {
  const elb = createClassicWorld();
  const own = () => [...elb.security.groups.values()].find(({ group }) => group.GroupName === OWN);
  const rules = () =>
    parsePermissions(own()?.ingress ?? []).map(
      ({ protocol, ports, peer }) => `${protocol} ${ports?.join("-")} ${peer}`,
    );
  const spec = {
    ports: [
      { port: 80, nodePort: 30_080 },
      { port: 443, nodePort: 30_443 },
    ],
    loadBalancerSourceRanges: ["10.1.2.3/8", "192.168.0.0/24"],
  };
  converge(elb, buildQuestion({ spec }));
  expect(rules().sort()).toEqual([
    "icmp 3-4 10.0.0.0/8",
    "icmp 3-4 192.168.0.0/24",
    "tcp 443-443 10.0.0.0/8",
    "tcp 443-443 192.168.0.0/24",
    "tcp 80-80 10.0.0.0/8",
    "tcp 80-80 192.168.0.0/24",
  ]);

  const state = own();
  if (state === undefined) throw new Error("none");
  const theirs = { IpProtocol: "tcp", FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: "0.0.0.0/0" }] };
  elb.security.groups.set(state.group.GroupId ?? "", { ...state, ingress: [...state.ingress, theirs] });
  converge(elb, buildQuestion({}));
  expect(rules().sort()).toEqual(["icmp 3-4 0.0.0.0/0", "tcp 80-80 0.0.0.0/0"]);
});

test("nodes move to another group: it is opened, and a group without nodes is closed", () => {
  const elb = createClassicWorld();
  elb.security.add("sg-other", "other-nodes", { "kubernetes.io/cluster/prod": "owned" });
  converge(elb, buildQuestion({}));

  elb.instances = { "i-1": { state: "running", groupIds: ["sg-other"] } };
  expect(converge(elb, buildQuestion({ nodes: ["i-1"] }))).toEqual(SETTLED);

  expect(parsePermissions(elb.security.groups.get("sg-other")?.ingress ?? [])).toHaveLength(1);
  expect(parsePermissions(elb.security.groups.get("sg-nodes")?.ingress ?? [])).toHaveLength(0);
});

test("a rule that allows a group in use by others stays when the Service is deleted", () => {
  const elb = createClassicWorld();
  const annotations = buildAnnotations({ "security-groups": "sg-byo" });
  converge(elb, buildQuestion({ annotations }));
  converge(elb, buildQuestion({ annotations, wanted: false }));

  expect(groups(elb).nodes).toEqual(["byo"]);
});

test.each([
  ["that is missing", { "security-groups": "sg-none" }, "security-groups"],
  ["of another cluster", { "extra-security-groups": "sg-foreign" }, "extra-security-groups"],
  ["that is not allowed", { "security-groups": "sg-byo,sg-config" }, "security-groups"],
] as const)("a security group %s is rejected before anything is made", (_, annotations, suffix) => {
  const elb = createClassicWorld();

  const step = converge(
    elb,
    buildQuestion({ annotations: buildAnnotations(annotations) } satisfies ServiceInput),
  );

  expect(step).toMatchObject({
    kind: "refused",
    issue: {
      code: "SecurityGroupNotAllowed",
      field: PREFIX + suffix,
      value: Object.values(annotations)[0],
    },
  });
  expect(elb.done).toEqual([]);
});

test("more than five groups in all are rejected", () => {
  const elb = createClassicWorld();
  const ids = ["sg-1", "sg-2", "sg-3", "sg-4", "sg-5"];
  for (const id of ids) elb.security.add(id, id, { "kubernetes.io/cluster/prod": "shared" });

  const step = converge(
    elb,
    buildQuestion({ annotations: buildAnnotations({ "extra-security-groups": ids.join() }) }),
  );

  expect(step).toMatchObject({ kind: "refused", issue: { field: `${PREFIX}extra-security-groups` } });
  expect(elb.done).toEqual([]);
});

test("a group that others may have is allowed by a marked rule, which the audit removes", () => {
  const elb = createClassicWorld();
  const asked = buildQuestion({ annotations: buildAnnotations({ "security-groups": "sg-byo" }) });
  converge(elb, asked);
  const rules = () => parsePermissions(elb.security.groups.get("sg-nodes")?.ingress ?? []);
  expect(rules()).toMatchObject([{ peer: "sg-byo", description: "serverless-ccm.io/rule/elb/backend" }]);
  const audit = (at: string, on: readonly string[]): readonly string[] => {
    const groups = [...elb.security.groups.values()];
    const classics = on.map((id) => ({ LoadBalancerName: NAME, SecurityGroups: [id] }));
    const shared = { clusterTag: "prod", groups, networks: [], classics, targetGroups: [] };
    const state = readSharedRules({ ...shared, ownClassics: new Set([NAME]), foreignIds: new Set() });
    const actions = planUnusedRules(state, new Date(at), buildSettings());
    for (const action of actions) if (action.action.includes("Revoke")) elb.act(action);
    return actions.map(({ action, parameters }) => {
      const [rule] = parsePermissions(parameters["IpPermissions"] as never);
      return `${action} ${rule?.description}`;
    });
  };
  expect(audit("2026-03-01T12:00:00Z", ["sg-byo"])).toEqual([]);
  converge(elb, { ...asked, wanted: false, nodes: [] });
  expect(rules()).toHaveLength(1);
  const [described = ""] = audit("2026-03-01T12:00:00Z", []);
  expect(described).toMatch(/^ec2:UpdateSecurityGroupRuleDescriptionsIngress .* unused since 2026-03-01T12/);
  elb.security.groups.set("sg-nodes", {
    ...elb.security.groups.get("sg-nodes"),
    ingress: buildPermissions(
      rules().map((rule) => ({ ...rule, description: described.split("Ingress ")[1] })),
    ),
  } as never);
  expect(audit("2026-03-01T12:10:00Z", [])).toEqual([
    expect.stringContaining("ec2:RevokeSecurityGroupIngress"),
  ]);
  expect(rules()).toEqual([]);
});

test("a node's rule is removed after its instance is deregistered", () => {
  const elb = createClassicWorld();
  elb.security.add("sg-other-nodes", "other nodes", { "kubernetes.io/cluster/prod": "owned" });
  elb.instances = { ...elb.instances, "i-9": { state: "running", groupIds: ["sg-other-nodes"] } };
  converge(elb, buildQuestion({ nodes: ["i-1", "i-9"] }));
  elb.done.length = 0;

  converge(elb, buildQuestion({ nodes: ["i-1"] }));
  expect(elb.done).toEqual(["elb:DeregisterInstancesFromLoadBalancer", "ec2:RevokeSecurityGroupIngress"]);
});
