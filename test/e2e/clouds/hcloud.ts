import { NETWORK_NAME, SELECTOR, startFakeHcloud, TOKEN } from "#test/clouds/hcloud/fake-server.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageHcloud(): Promise<StagedCloud> {
  const fake = await startFakeHcloud();
  return {
    provider: "hcloud",
    secrets: [TOKEN],
    config: { network: NETWORK_NAME, labelSelector: SELECTOR },
    environment: { HCLOUD_TOKEN: TOKEN, HCLOUD_ENDPOINT: `${fake.url}/v1` },
    add() {
      const { id, name, public_net: net, private_net: attached } = fake.add();
      const { ipv4 } = net as { readonly ipv4: { readonly ip: string } };
      return {
        name,
        providerID: `hcloud://${id}`,
        addresses: [`Hostname ${name}`, `ExternalIP ${ipv4.ip}`, `InternalIP ${attached[0]?.ip}`],
        type: "cpx31",
        region: "fsn1",
        zone: "fsn1-dc14",
      };
    },
    remove({ providerID }) {
      fake.servers.delete(providerID.replace("hcloud://", ""));
    },
    requests: () => fake.requests.length,
    close: () => fake.close(),
  };
}
