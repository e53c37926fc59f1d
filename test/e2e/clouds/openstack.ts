import {
  CREDENTIAL,
  NETWORK,
  REGION,
  SECRET,
  startFakeOpenStack,
} from "#test/clouds/openstack/fake-server.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageOpenStack(): Promise<StagedCloud> {
  const fake = await startFakeOpenStack();
  return {
    provider: "openstack",
    secrets: [SECRET],
    config: { "application-credential-id": CREDENTIAL, "network-id": NETWORK },
    environment: {
      OS_AUTH_URL: `${fake.authURL}/v3`,
      OS_REGION_NAME: REGION,
      OS_APPLICATION_CREDENTIAL_SECRET: SECRET,
    },
    add() {
      const { id, name, addresses } = fake.add();
      const [fixed, floating] = (addresses["tenant"] ?? []) as readonly { readonly addr: string }[];
      return {
        name,
        providerID: `openstack:///${id}`,
        addresses: [`InternalIP ${fixed?.addr}`, `ExternalIP ${floating?.addr}`, `Hostname ${name}`],
        type: "m1.large",
        region: REGION,
        zone: "az1",
      };
    },
    remove({ providerID }) {
      fake.servers.delete(providerID.replace("openstack:///", ""));
    },
    requests: () => fake.requests.length,
    close: () => fake.close(),
  };
}
