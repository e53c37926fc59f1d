import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RULE_MODE, TYPE } from "#clouds/oci/load-balancers/annotations/table.ts";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { SUBNET } from "#test/clouds/oci/fake/network.ts";
import { startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildWrittenConfig } from "#test/clouds/oci/world.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageOci(): Promise<StagedCloud> {
  const account = await startFakeAccount();
  const { oci: fake, lb, nlb, nsgs, work } = account;
  const { compute } = fake;
  const folder = mkdtempSync(join(tmpdir(), "oci-key-"));
  const keyFile = join(folder, "key.pem");
  writeFileSync(keyFile, API_KEY.pem);
  const loadBalancer = { subnet1: SUBNET, securityListManagementMode: "None" };
  const { provider: _, ...config } = buildWrittenConfig({ auth: { keyFile }, loadBalancer }, fake.url);
  const instances = new Map<string, FakeInstance>();
  return {
    provider: "oci",
    secrets: API_KEY.pem.split("\n").filter((line) => line.length > 30 && !line.startsWith("-----")),
    config,
    environment: {},
    add() {
      const instance = compute.add();
      const { id, displayName: name, shape, region } = instance;
      const { privateIp, publicIp } = compute.vnicOf(instance);
      const providerID = `oci://${id}`;
      instances.set(providerID, instance);
      return {
        name,
        providerID,
        addresses: [
          `InternalIP ${privateIp}`,
          ...(publicIp ? [`ExternalIP ${publicIp}`] : []),
          `Hostname ${name}`,
        ],
        type: shape,
        region,
        zone: "PHX-AD-1",
      };
    },
    remove({ providerID }) {
      const instance = instances.get(providerID);
      if (instance !== undefined) compute.terminate(instance);
    },
    requests: () => fake.requests.length,
    loadBalancers: {
      services: {
        web: { annotations: { [RULE_MODE]: "NSG" } },
        "web-nlb": { annotations: { [TYPE]: "nlb", [RULE_MODE]: "NSG" } },
      },
      async outline() {
        const balancers = [lb, nlb].flatMap(({ balancers }) => [...balancers.values()]);
        // A load balancer is shown for some time after its deletion.
        const there = balancers.filter(({ lifecycleState }) => lifecycleState !== "DELETED");
        return [...there, ...nsgs.groups.values()].map((thing) => JSON.stringify(thing));
      },
      advance: async () => work.finish(),
    },
    async close() {
      rmSync(folder, { recursive: true });
      await account.close();
    },
  };
}
