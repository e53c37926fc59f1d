import { activate } from "#emulators/digitalocean/load-balancers.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageDigitalOcean(): Promise<StagedCloud> {
  const fake = await startFakeDigitalOcean();
  const { loadBalancers } = fake;
  return {
    provider: "digitalocean",
    secrets: [TOKEN],
    config: { region: REGION, vpc: VPC, dropletTag: TAG, apiURL: fake.url, clusterID: "tenant" },
    environment: { DO_ACCESS_TOKEN: TOKEN },
    add() {
      const { id, name, networks } = fake.add();
      const [external, internal] = (networks?.v4 ?? []) as readonly { readonly ip_address: string }[];
      return {
        name,
        providerID: `digitalocean://${id}`,
        addresses: [
          `Hostname ${name}`,
          `InternalIP ${internal?.ip_address}`,
          `ExternalIP ${external?.ip_address}`,
        ],
        type: "s-4vcpu-8gb",
        region: REGION,
        zone: undefined,
      };
    },
    remove({ providerID }) {
      fake.droplets.delete(providerID.replace("digitalocean://", ""));
    },
    requests: () => fake.requests.length,
    loadBalancers: {
      outline: async () => [...loadBalancers.values()].map((balancer) => JSON.stringify(balancer)),
      async advance() {
        for (const [index, balancer] of [...loadBalancers.values()].entries())
          if (balancer.status === "new") activate(balancer, index + 1);
      },
    },
    close: () => fake.close(),
  };
}
