import { createHcloudCloud } from "#clouds/hcloud/cloud.ts";
import { HcloudCloudConfig } from "#clouds/hcloud/kind.ts";
import { fixedToken } from "#clouds/http/token-file.ts";
import { aNode } from "#test/clouds/builders.ts";
import { type FakedWorld, fakedWorld } from "#test/clouds/faked-world.ts";
import {
  type FakeHcloud,
  type FakeHcloudServer,
  NETWORK,
  SELECTOR,
  startFakeHcloud,
  TOKEN,
} from "#test/clouds/hcloud/fake-server.ts";

/** A fake Hetzner, and clouds on it. */
export type HcloudWorld = FakedWorld<FakeHcloud, Record<string, unknown>>;

/** By network and labels, unless told otherwise. */
export function aConfig(traits: Record<string, unknown> = {}): HcloudCloudConfig {
  return HcloudCloudConfig.parse({
    provider: "hcloud",
    network: NETWORK,
    labelSelector: SELECTOR,
    ...traits,
  });
}

export async function aWorld(): Promise<HcloudWorld> {
  const fake = await startFakeHcloud();
  const token = fixedToken(TOKEN, "the token");
  return fakedWorld(fake, (traits, options) =>
    createHcloudCloud(aConfig({ endpoint: `${fake.url}/v1`, ...traits }), token, options),
  );
}

/** The node of a server, with its provider ID. */
export function identified({ id, name }: FakeHcloudServer) {
  return aNode({ name, providerID: `hcloud://${id}` });
}

/** The node of a server as a kubelet without provider ID registers it. */
export function named({ name }: FakeHcloudServer) {
  return aNode({ name });
}

/** How many requests there were of each sort. */
export function asked({ requests }: FakeHcloud): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path } of requests) {
    const sort = SORTS.get(path) ?? (path.startsWith("/v1/servers/") ? "read" : "networks");
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}

const SORTS: ReadonlyMap<string, string> = new Map([
  ["/v1/servers", "list"],
  ["/v1/servers/actions", "actions"],
]);
