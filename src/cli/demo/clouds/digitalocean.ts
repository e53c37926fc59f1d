import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLOUD_LATENCY_MS, type DemoCloud } from "#cli/demo/clouds/demo-cloud.ts";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { createTokenFile } from "#clouds/http/authorizer.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";

/** Starts an emulated DigitalOcean API, with its token in a file. */
export async function startDigitalOcean(folder: string): Promise<DemoCloud> {
  const file = join(folder, "digitalocean-token");
  // The token is not secret: the API is on this machine.
  await writeFile(file, TOKEN, { mode: 0o600 });
  const fake = await startFakeDigitalOcean();
  fake.before = async () => {
    await sleep(CLOUD_LATENCY_MS);
  };
  const config = {
    ...({ provider: "digitalocean", region: REGION, vpc: VPC, dropletTag: TAG } as const),
    ...{ apiURL: fake.url, tokenFile: file },
  };
  return {
    words: "HTTP → DigitalOcean (embedded)",
    config,
    environment: {},
    load: () => createDigitalOceanCloud(DigitalOceanCloudConfig.parse(config), createTokenFile(file)),
    add: (count) =>
      Array.from({ length: count }, () => {
        const { id, name } = fake.add();
        return { name, providerID: `digitalocean://${id}` };
      }),
    counts() {
      const calls = fake.requests.map(({ method, path }) => `${method} ${path.replace(/\/\d+$/, "/{id}")}`);
      return Object.fromEntries(
        [...Map.groupBy(calls, (call) => call)].map(([call, all]) => [call, all.length]),
      );
    },
    close: () => fake.close(),
  };
}
