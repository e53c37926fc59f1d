import { expect, test } from "vitest";
import { readSharedRules } from "#clouds/aws/load-balancers/orphans/shared-rules.ts";
import { planUnusedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { permissionsOf, rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import {
  converge,
  HOSTNAME,
  NAME,
  PREFIX,
  question,
  type Said,
  said,
  settings,
  world,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import type { FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const SETTLED = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
const OWN = `k8s-elb-${NAME}`;

/** Which groups the load balancer has, and which are let in on the nodes, by name. */
function groups(elb: FakeElb) {
  const name = (id: string) => elb.security.groups.get(id)?.group.GroupName ?? id;
  const rules = (id: string) =>
    rulesOf(elb.security.groups.get(id)?.ingress ?? []).map(({ peer }) => name(peer));
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
  const elb = world();
  const given = settings(cloud);

  expect(converge(elb, question({ annotations: said(annotations) }), { settings: given })).toEqual(SETTLED);
  expect(groups(elb)).toEqual(expected);

  converge(elb, question({ wanted: false }), { settings: given });
  expect(groups(elb)).toMatchObject({ attached: [], own: false });
  for (const id of ["sg-byo", "sg-extra", "sg-config"])
    expect(elb.security.groups.get(id)?.ingress).toEqual([]);
});

test.each([
  ["to the annotation's", { "security-groups": "sg-byo" }, {}],
  ["to the configured one", {}, CONFIGURED],
] as const)("a group of its own goes when it changes %s, and comes back", (_, annotations, cloud) => {
  const elb = world();
  converge(elb, question({}));
  elb.done.length = 0;

  expect(converge(elb, question({ annotations: said(annotations) }), { settings: settings(cloud) })).toEqual(
    SETTLED,
  );
  expect(groups(elb)).toMatchObject({ own: false });
  expect(groups(elb).nodes).not.toContain(OWN);
  // The nodes let the new group in before the load balancer has it, and the old one until it has not.
  expect(elb.done).toEqual([
    "ec2:AuthorizeSecurityGroupIngress",
    "elb:ApplySecurityGroupsToLoadBalancer",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:DeleteSecurityGroup",
  ]);

  expect(converge(elb, question({}))).toEqual(SETTLED);
  expect(groups(elb)).toMatchObject({ attached: [OWN], own: true });
});

test("the rules of its own group are exactly the ports from the source ranges, and what tells packets' sizes", () => {
  const elb = world();
  const own = () => [...elb.security.groups.values()].find(({ group }) => group.GroupName === OWN);
  const rules = () =>
    rulesOf(own()?.ingress ?? []).map(
      ({ protocol, ports, peer }) => `${protocol} ${ports?.join("-")} ${peer}`,
    );
  const spec = {
    ports: [
      { port: 80, nodePort: 30_080 },
      { port: 443, nodePort: 30_443 },
    ],
    loadBalancerSourceRanges: ["10.1.2.3/8", "192.168.0.0/24"],
  };
  converge(elb, question({ spec }));
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
  converge(elb, question({}));
  expect(rules().sort()).toEqual(["icmp 3-4 0.0.0.0/0", "tcp 80-80 0.0.0.0/0"]);
});

test("nodes of another group: it is opened, and the one that no node has any more is shut", () => {
  const elb = world();
  elb.security.add("sg-other", "other-nodes", { "kubernetes.io/cluster/prod": "owned" });
  converge(elb, question({}));

  elb.instances = { "i-1": { state: "running", groupIds: ["sg-other"] } };
  expect(converge(elb, question({ nodes: ["i-1"] }))).toEqual(SETTLED);

  expect(rulesOf(elb.security.groups.get("sg-other")?.ingress ?? [])).toHaveLength(1);
  expect(rulesOf(elb.security.groups.get("sg-nodes")?.ingress ?? [])).toHaveLength(0);
});

test("a rule that lets in what others use, too, stays when the Service goes", () => {
  const elb = world();
  const annotations = said({ "security-groups": "sg-byo" });
  converge(elb, question({ annotations }));
  converge(elb, question({ annotations, wanted: false }));

  expect(groups(elb).nodes).toEqual(["byo"]);
});

test.each([
  ["that is not there", { "security-groups": "sg-none" }, "security-groups"],
  ["of another cluster", { "extra-security-groups": "sg-foreign" }, "extra-security-groups"],
  ["that nobody allows", { "security-groups": "sg-byo,sg-config" }, "security-groups"],
] as const)("a security group %s is refused before anything is made", (_, annotations, suffix) => {
  const elb = world();

  const step = converge(elb, question({ annotations: said(annotations) } satisfies Said));

  expect(step).toMatchObject({
    kind: "refused",
    problem: {
      code: "SecurityGroupNotAllowed",
      field: PREFIX + suffix,
      value: Object.values(annotations)[0],
    },
  });
  expect(elb.done).toEqual([]);
});

test("more than five groups in all are refused", () => {
  const elb = world();
  const ids = ["sg-1", "sg-2", "sg-3", "sg-4", "sg-5"];
  for (const id of ids) elb.security.add(id, id, { "kubernetes.io/cluster/prod": "shared" });

  const step = converge(elb, question({ annotations: said({ "extra-security-groups": ids.join() }) }));

  expect(step).toMatchObject({ kind: "refused", problem: { field: `${PREFIX}extra-security-groups` } });
  expect(elb.done).toEqual([]);
});

test("a group that others may have is let in by a rule that says so, and that the audit takes away", () => {
  const elb = world();
  const asked = question({ annotations: said({ "security-groups": "sg-byo" }) });
  converge(elb, asked);
  const rules = () => rulesOf(elb.security.groups.get("sg-nodes")?.ingress ?? []);
  expect(rules()).toMatchObject([{ peer: "sg-byo", description: "serverless-ccm.io/rule/elb/backend" }]);
  const audit = (at: string, on: readonly string[]): readonly string[] => {
    const groups = [...elb.security.groups.values()];
    const classics = on.map((id) => ({ LoadBalancerName: NAME, SecurityGroups: [id] }));
    const shared = { clusterTag: "prod", groups, networks: [], classics, targetGroups: [] };
    const state = readSharedRules({ ...shared, ownClassics: new Set([NAME]), ofOthers: new Set() });
    const actions = planUnusedRules(state, new Date(at), settings());
    for (const action of actions) if (action.action.includes("Revoke")) elb.act(action);
    return actions.map(({ action, parameters }) => {
      const [rule] = rulesOf(parameters["IpPermissions"] as never);
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
    ingress: permissionsOf(rules().map((rule) => ({ ...rule, description: described.split("Ingress ")[1] }))),
  } as never);
  expect(audit("2026-03-01T12:10:00Z", [])).toEqual([
    expect.stringContaining("ec2:RevokeSecurityGroupIngress"),
  ]);
  expect(rules()).toEqual([]);
});
