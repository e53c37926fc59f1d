import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { aWriting } from "#test/clouds/oci/world.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageOci(): Promise<StagedCloud> {
  const fake = await startFakeOci();
  const { compute } = fake;
  const folder = mkdtempSync(join(tmpdir(), "oci-key-"));
  const keyFile = join(folder, "key.pem");
  writeFileSync(keyFile, API_KEY.pem);
  const { provider: _, ...config } = aWriting({ auth: { keyFile } }, fake.url);
  const instances = new Map<string, FakeInstance>();
  return {
    config,
    environment: {},
    add() {
      const instance = compute.add();
      const { id, displayName: name, shape } = instance;
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
        region: "us-phoenix-1",
        zone: "PHX-AD-1",
      };
    },
    remove({ providerID }) {
      const instance = instances.get(providerID);
      if (instance !== undefined) compute.terminate(instance);
    },
    requests: () => fake.requests.length,
    async close() {
      rmSync(folder, { recursive: true });
      await fake.close();
    },
  };
}
