import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { routeController } from "#core/route/controller.ts";
import { orphanController, serviceController } from "#functions/parts/service-controller.ts";
import { taggingController } from "#test/functions/tagging/controller.ts";
import { NETWORK_ANNOTATIONS } from "../clouds/aws.ts";
import type { Scenario } from "../scenario.ts";
import type { TenantAccount } from "./account.ts";
import { createClassicAccount, createNetworkAccount } from "./aws-accounts.ts";
import { createMemoryAccount, createRouteAccount, createTagAccount } from "./cluster-accounts.ts";
import { addQuotas, TENANT_SHARE } from "./quotas.ts";

/** The load balancer quota of the hostile tenant's cluster, which has more Services. */
export const HOSTILE_MAX = 2;

/** The options of `createWorld` for a tenant; its cloud is the shared account. */
export type TenantWorld = Omit<Scenario, "createCloud" | "createCluster">;

/** One controller of two clusters in one account. */
export interface TenantScenario {
  readonly name: string;
  readonly victim: TenantWorld;
  readonly evil: TenantWorld;
  /** The controller that audits resources without a Service, if any; both tenants have it. */
  readonly audit?: Controller;
  /** Creates the account; `now` returns milliseconds of the history's time. */
  readonly createAccount: (now: () => number) => TenantAccount;
}

type Settings = Readonly<Record<string, unknown>>;

interface Parts {
  readonly controller: unknown;
  readonly signedInAs: Scenario["signedInAs"];
  readonly victim: Settings;
  readonly evil: Settings;
  readonly createAccount: TenantScenario["createAccount"];
  readonly annotations?: Scenario["annotations"];
  readonly audit?: unknown;
  readonly share?: number;
}

function tenantScenario(name: string, parts: Parts): TenantScenario {
  const { signedInAs, createAccount, annotations = {}, share = 1, audit } = parts;
  const controller = parts.controller as Controller;
  const worldOf = (tenant: "victim" | "evil"): TenantWorld => ({
    ...{ name, controller, signedInAs, annotations, share },
    cluster: Cluster.parse({
      ...{ name: tenant, server: `https://${tenant}.example`, controllers: [controller.name] },
      ...parts[tenant],
    }),
    manifests: "rbac",
    weights: {},
    describe: () => [],
  });
  const tenants = { victim: worldOf("victim"), evil: worldOf("evil") };
  return { name, createAccount, ...tenants, ...(audit === undefined ? {} : { audit: audit as Controller }) };
}

const REGION = { provider: "aws", region: "eu-central-1" };
const VICTIM = { cloud: { ...REGION, vpc: "vpc-1", clusterTag: "victim" } };
/** Deletes resources without a Service. */
const AUDITED = { deleteOrphaned: true };
const loadBalancers = { max: HOSTILE_MAX, ...AUDITED };
const services = { controller: serviceController, signedInAs: "service" } as const;
const network = {
  ...{ ...services, annotations: NETWORK_ANNOTATIONS, audit: orphanController },
  victim: { ...VICTIM, loadBalancers: AUDITED },
};
const evilOn = (cloud: Settings): Settings => ({ cloud: { ...REGION, ...cloud }, loadBalancers });
const MEMORY = { provider: "memory", instancesFile: "none" };

/** The scenarios with two tenants, by name. */
export const TENANT_SCENARIOS: Readonly<Record<string, TenantScenario>> = Object.fromEntries(
  [
    tenantScenario("memory", {
      ...services,
      victim: { cloud: MEMORY, loadBalancers: AUDITED },
      evil: { cloud: MEMORY, loadBalancers },
      audit: orphanController,
      createAccount: createMemoryAccount,
    }),
    tenantScenario("network", {
      ...network,
      evil: evilOn({ vpc: "vpc-1", clusterTag: "evil" }),
      createAccount: () => createNetworkAccount("one VPC"),
    }),
    tenantScenario("network-quotas", {
      ...network,
      evil: evilOn({ vpc: "vpc-1", clusterTag: "evil" }),
      share: TENANT_SHARE,
      createAccount: (now) => addQuotas(createNetworkAccount("one VPC"), now),
    }),
    tenantScenario("network-vpcs", {
      ...network,
      evil: evilOn({ vpc: "vpc-2" }),
      createAccount: () => createNetworkAccount("two VPCs"),
    }),
    tenantScenario("network-group", {
      ...network,
      evil: evilOn({ clusterTag: "evil" }),
      createAccount: () => createNetworkAccount("one security group"),
    }),
    tenantScenario("classic", {
      ...services,
      victim: VICTIM,
      evil: evilOn({ vpc: "vpc-1", clusterTag: "evil" }),
      createAccount: createClassicAccount,
    }),
    tenantScenario("routes", {
      ...{ controller: routeController, signedInAs: "route" },
      victim: { ...VICTIM, routes: { clusterCIDRs: ["100.64.0.0/16"] } },
      evil: { ...evilOn({ vpc: "vpc-1", clusterTag: "evil" }), routes: { clusterCIDRs: ["100.65.0.0/16"] } },
      createAccount: createRouteAccount,
    }),
    tenantScenario("tags", {
      ...{ controller: taggingController, signedInAs: "tagging" },
      victim: { ...VICTIM, tagging: { tags: { team: "victim" } } },
      evil: { ...evilOn({ vpc: "vpc-1", clusterTag: "evil" }), tagging: { tags: { team: "evil" } } },
      createAccount: createTagAccount,
    }),
  ].map((scenario) => [scenario.name, scenario]),
);
