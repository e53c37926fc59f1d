import { KEYS } from "#test/clouds/rancher/cattle-world.ts";
import { type FakeHost, SECRET_KEY, startFakeCattle } from "#test/clouds/rancher/fake-cattle.ts";
import { settleAll } from "#test/clouds/rancher/fake-cattle-services.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

/** An environment of Rancher 1.x. */
export async function stageRancherCattle(): Promise<StagedCloud> {
  const fake = await startFakeCattle();
  const hosts = new Map<string, FakeHost>();
  return {
    provider: "rancher",
    secrets: [SECRET_KEY],
    config: { mode: "cattle", cattle: { url: fake.url } },
    environment: KEYS,
    add() {
      const host = fake.add();
      const { uuid, hostname, addresses } = host;
      const providerID = `rancher://${uuid}`;
      hosts.set(providerID, host);
      return {
        name: `${hostname}`,
        providerID,
        addresses: [
          ...addresses.flatMap((each) => [`ExternalIP ${each}`, `InternalIP ${each}`]),
          `Hostname ${hostname}`,
        ],
        ...{ type: "rancher", region: undefined, zone: undefined },
        origin: `rancher/projects/1a5/${uuid}`,
      };
    },
    remove({ providerID }) {
      const host = hosts.get(providerID);
      if (host !== undefined) fake.hosts.delete(host.id);
    },
    requests: () => fake.requests.length,
    loadBalancers: {
      // Their stack stays when the last one is deleted.
      outline: async () => [...fake.services.all.values()].map((each) => JSON.stringify(each)),
      advance: async () => settleAll(fake.services),
    },
    close: () => fake.close(),
  };
}
