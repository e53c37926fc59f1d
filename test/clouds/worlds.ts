import { type AnyCloudProvider, CloudConfig, findCloudProvider, findPreset } from "#clouds/providers.ts";
import type { BuildWorld } from "#test/clouds/load-balancer-world.ts";
import { getMotoProgram, type MotoProgram } from "#test/setup/moto-program.ts";

/** An emulated account with load balancers, for the suites of all clouds. */
export interface NamedWorld {
  /** The cloud's name, as in `cloud.provider`. */
  readonly provider: string;
  /** Whether its load balancers have settings that are changed in place: the world has `otherSettings`. */
  readonly hasSettings: boolean;
  /** Imports the world's code; rejects if the machine lacks a requirement. */
  load(): Promise<BuildWorld>;
}

/**
 * The worlds of all clouds with load balancers, by name, as in `--cloud`: one for each kind of load balancer.
 * The tables of killed functions and the runs of two actors have each of them.
 */
export const WORLDS: Readonly<Record<string, NamedWorld>> = {
  classic: {
    provider: "aws",
    hasSettings: true,
    async load() {
      const { createAwsWorld } = await import("#test/clouds/aws/load-balancer-world.ts");
      const program = await findMoto();
      return () => createAwsWorld(program, "classic");
    },
  },
  nlb: {
    provider: "aws",
    hasSettings: true,
    async load() {
      const { createAwsWorld } = await import("#test/clouds/aws/load-balancer-world.ts");
      const program = await findMoto();
      return () => createAwsWorld(program, "network");
    },
  },
  digitalocean: {
    provider: "digitalocean",
    hasSettings: true,
    load: async () =>
      (await import("#test/clouds/digitalocean/load-balancer-world.ts")).createDigitalOceanWorld,
  },
  keepalived: {
    provider: "keepalived",
    hasSettings: true,
    load: async () => (await import("#test/clouds/keepalived/load-balancer-world.ts")).createKeepalivedWorld,
  },
  kubevip: {
    provider: "kubevip",
    hasSettings: false,
    load: async () => (await import("#test/clouds/kubevip/load-balancer-world.ts")).createKubeVipWorld,
  },
  memory: {
    provider: "memory",
    hasSettings: false,
    load: async () => (await import("#test/clouds/memory/load-balancer-world.ts")).createMemoryWorld,
  },
  oci: {
    provider: "oci",
    hasSettings: true,
    async load() {
      const { createOciWorld } = await import("#test/clouds/oci/load-balancer-world.ts");
      return () => createOciWorld("lb");
    },
  },
  "oci-nlb": {
    provider: "oci",
    hasSettings: true,
    async load() {
      const { createOciWorld } = await import("#test/clouds/oci/load-balancer-world.ts");
      return () => createOciWorld("nlb");
    },
  },
  rancher: {
    provider: "rancher",
    hasSettings: false,
    load: async () =>
      (await import("#test/clouds/rancher/load-balancer-world.ts")).createCattleLoadBalancerWorld,
  },
};

/** The required keys of each cloud's configuration, without `provider`; no line for a cloud without them. */
const MINIMAL_CONFIGS: Readonly<Record<string, object>> = {
  aws: { region: "eu-central-1", vpc: "vpc-1", clusterTag: "a" },
  digitalocean: { region: "fra1", clusterID: "a", dropletTag: "a" },
  hcloud: { network: "a" },
  keepalived: { configMap: "a", serviceCIDR: "10.210.0.0/24" },
  memory: { instancesFile: "unused" },
  oci: {
    auth: {
      ...{ region: "phx", tenancy: "ocid1.tenancy.oc1..a", user: "ocid1.user.oc1..a", keyFile: "unused" },
      fingerprint: Array.from({ length: 16 }, () => "aa").join(":"),
    },
    ...{ compartment: "ocid1.compartment.oc1..a", vcn: "ocid1.vcn.oc1..a", loadBalancer: {} },
  },
  openstack: {
    "auth-url": "https://keystone.example.com:5000/v3",
    region: "RegionOne",
    "application-credential-id": "a",
    "server-tag": "a",
  },
  rancher: { distribution: "k3s" },
};

/** Returns a minimal configuration of the cloud with this name, in its default mode. */
export function buildMinimalConfig(provider: string): CloudConfig {
  const { data, error } = CloudConfig.safeParse({ provider, ...MINIMAL_CONFIGS[provider] });
  if (data !== undefined) return data;
  throw new Error(
    `test/clouds/worlds.ts: add the required keys of cloud.provider ${provider} to MINIMAL_CONFIGS: ${error.message}`,
  );
}

/** Returns the manifests of infra/ that a real API server needs for clusters of this cloud. */
export function listManifests(provider: string, ofCloud: readonly string[] = []): readonly string[] {
  const found: AnyCloudProvider | undefined = findCloudProvider(provider) ?? findPreset(provider)?.kind;
  return [...ofCloud, ...(found?.ingress === "ip" ? ["admission/addresses"] : [])];
}

async function findMoto(): Promise<MotoProgram> {
  const program = await getMotoProgram((line) => process.stderr.write(`${line}\n`));
  if (program.kind === "present") return program.value;
  throw new Error(`AWS is emulated by moto: ${program.because}`);
}
