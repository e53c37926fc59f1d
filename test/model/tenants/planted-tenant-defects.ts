import type { Capability } from "#clouds/cloud.ts";
import { NO_USAGE } from "../cloud.ts";
import type { TenantAccount } from "./account.ts";
import type { TenantScenario } from "./tenant-scenarios.ts";

/** A mistake that exposes the victim to a hostile tenant, and that histories must find. */
export interface TenantDefect {
  readonly title: string;
  readonly scenario: string;
  /** Returns what replaces the capability in the hostile tenant's function. */
  readonly plant: (evil: Capability, account: TenantAccount) => Capability;
  readonly found: RegExp;
}

/** Observations of the hostile tenant's cluster claim the victim's resources. */
const believed = (inner: Capability): Capability => ({
  act: inner.act,
  async observe(questions, call) {
    const observed = await inner.observe(questions, call);
    const text = JSON.stringify(observed)
      .replaceAll("kubernetes.io/cluster/victim", "kubernetes.io/cluster/evil")
      .replaceAll('"cluster":"victim"', '"cluster":"evil"');
    return JSON.parse(text);
  },
});

/** Machines, with their routes and tags, are identified only by what the tenant's nodes claim. */
const asVictim =
  (name: string): TenantDefect["plant"] =>
  (evil, account) => ({
    observe: (questions, call) => (account.capabilities("victim")[name] ?? evil).observe(questions, call),
    act: evil.act,
  });

/** The cluster's resources in the cloud are not counted. */
const uncounted = (inner: Capability): Capability => ({
  act: inner.act,
  observe: async (questions, call) =>
    JSON.stringify(questions).includes('"holdings":true')
      ? { answers: questions.map(() => ({ kind: "observed", state: { holdings: [] } })), usage: NO_USAGE }
      : inner.observe(questions, call),
});

/** Each call spends the account's quotas without a limit. */
const greedy = (inner: Capability): Capability => ({
  observe: (questions, call) => inner.observe(questions, { ...call, share: 1 }),
  act: (action, call) => inner.act(action, { ...call, share: 1 }),
});

/** Audits, but no other calls, take resources of the account's other clusters for the cluster's own. */
const auditsAll: TenantDefect["plant"] = (inner, account) => ({
  act: inner.act,
  async observe(questions, call) {
    if (!JSON.stringify(questions).includes('"auditAt"')) return inner.observe(questions, call);
    const { loadBalancers = inner } = account.capabilities("victim");
    return loadBalancers.observe(questions, call);
  },
});

export const TENANT_DEFECTS: readonly TenantDefect[] = [
  {
    title: "an audit lists the load balancers of all clusters",
    scenario: "memory",
    plant: auditsAll,
    found: /(Mark|Delete)LoadBalancer changes the victim's/,
  },
  {
    title: "an audit lists the load balancers of all clusters",
    scenario: "network",
    plant: auditsAll,
    found: /elbv2:\w+ changes the victim's/,
  },
  {
    title: "the share of a call is not read",
    scenario: "network-quotas",
    plant: greedy,
    found: /the account throttles .* of the victim/,
  },
  {
    title: "the uid alone says whose a load balancer is",
    scenario: "memory",
    plant: believed,
    found: /changes the victim's: gone/,
  },
  {
    title: "the tag of the cluster is not read",
    scenario: "network",
    plant: believed,
    found: /changes the victim's: gone/,
  },
  {
    title: "the tag of the cluster is not read",
    scenario: "classic",
    plant: believed,
    found: /changes the victim's: gone/,
  },
  {
    title: "nodes say whose a machine is",
    scenario: "routes",
    plant: asVictim("routes"),
    found: /changes the victim's|uses the victim's/,
  },
  {
    title: "nodes say whose a machine is",
    scenario: "tags",
    plant: asVictim("tags"),
    found: /changes the victim's/,
  },
  {
    title: "Services say how many load balancers there are",
    scenario: "network",
    plant: uncounted,
    found: /has 3 load balancers, more than 2/,
  },
];

/** Returns the scenario with the defect in the hostile tenant's function. */
export function plantTenantDefect(scenario: TenantScenario, { plant }: TenantDefect): TenantScenario {
  return {
    ...scenario,
    createAccount(now) {
      const account = scenario.createAccount(now);
      return {
        ...account,
        capabilities(tenant) {
          const sound = Object.entries(account.capabilities(tenant));
          return Object.fromEntries(
            sound.map(([name, each]) => [name, tenant === "evil" ? plant(each, account) : each]),
          );
        },
      };
    },
  };
}
