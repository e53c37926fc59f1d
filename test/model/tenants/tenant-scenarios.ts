import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { routeController } from "#core/route/controller.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { taggingController } from "#functions/parts/tagging-controller.ts";
import { NETWORK_ANNOTATIONS } from "../clouds/aws.ts";
import type { Scenario } from "../scenario.ts";
import type { TenantAccount } from "./account.ts";
import { createClassicAccount, createNetworkAccount } from "./aws-accounts.ts";
import { createMemoryAccount, createRouteAccount, createTagAccount } from "./cluster-accounts.ts";

/** Load balancers that the hostile tenant's cluster may have; it has more Services. */
export const HOSTILE_MAX = 2;

/** What `createWorld` takes of a tenant; its cloud is the account that both share. */
export type TenantWorld = Omit<Scenario, "createCloud" | "createCluster">;

/** One controller of two clusters in one account. */
export interface TenantScenario {
  readonly name: string;
  readonly victim: TenantWorld;
  readonly evil: TenantWorld;
  readonly createAccount: () => TenantAccount;
}

type Settings = Readonly<Record<string, unknown>>;

interface Parts {
  readonly controller: unknown;
  readonly signedInAs: Scenario["signedInAs"];
  readonly victim: Settings;
  readonly evil: Settings;
  readonly createAccount: () => TenantAccount;
  readonly annotations?: Scenario["annotations"];
}

function tenantScenario(name: string, parts: Parts): TenantScenario {
  const { signedInAs, createAccount, annotations = {} } = parts;
  const controller = parts.controller as Controller;
  const worldOf = (tenant: "victim" | "evil"): TenantWorld => ({
    ...{ name, controller, signedInAs, annotations },
    cluster: Cluster.parse({
      ...{ name: tenant, server: `https://${tenant}.example`, controllers: [controller.name] },
      ...parts[tenant],
    }),
    manifests: "rbac",
    weights: {},
    describe: () => [],
  });
  return { name, createAccount, victim: worldOf("victim"), evil: worldOf("evil") };
}

const REGION = { provider: "aws", region: "eu-central-1" };
const VICTIM = { cloud: { ...REGION, vpc: "vpc-1", clusterTag: "victim" } };
const loadBalancers = { max: HOSTILE_MAX };
const services = { controller: serviceController, signedInAs: "service" } as const;
const network = { ...services, annotations: NETWORK_ANNOTATIONS, victim: VICTIM };
const evilOn = (cloud: Settings): Settings => ({ cloud: { ...REGION, ...cloud }, loadBalancers });
const MEMORY = { provider: "memory", instancesFile: "none" };

/** Every scenario of two tenants by its name. */
export const TENANT_SCENARIOS: Readonly<Record<string, TenantScenario>> = Object.fromEntries(
  [
    tenantScenario("memory", {
      ...services,
      victim: { cloud: MEMORY },
      evil: { cloud: MEMORY, loadBalancers },
      createAccount: createMemoryAccount,
    }),
    tenantScenario("network", {
      ...network,
      evil: evilOn({ vpc: "vpc-1", clusterTag: "evil" }),
      createAccount: () => createNetworkAccount("one VPC"),
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
