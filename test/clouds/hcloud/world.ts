import { createHcloudCloud } from "#clouds/hcloud/cloud.ts";
import { HcloudCloudConfig } from "#clouds/hcloud/config.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { buildNode } from "#test/clouds/builders.ts";
import { createFakedWorld, type FakedWorld } from "#test/clouds/faked-world.ts";
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

/** Builds a configuration; by default by network and labels. */
export function buildConfig(traits: Record<string, unknown> = {}): HcloudCloudConfig {
  return HcloudCloudConfig.parse({
    provider: "hcloud",
    network: NETWORK,
    labelSelector: SELECTOR,
    ...traits,
  });
}

export async function createNodeWorld(): Promise<HcloudWorld> {
  const fake = await startFakeHcloud();
  const token = createFixedToken(TOKEN, "the token");
  return createFakedWorld(fake, (traits, options) =>
    createHcloudCloud(buildConfig({ endpoint: `${fake.url}/v1`, ...traits }), token, options),
  );
}

/** Builds the node of a server, with its provider ID. */
export function buildIdentifiedNode({ id, name }: FakeHcloudServer) {
  return buildNode({ name, providerID: `hcloud://${id}` });
}

/** Builds the node of a server as a kubelet without provider ID registers it. */
export function buildNamedNode({ name }: FakeHcloudServer) {
  return buildNode({ name });
}

/** Counts the requests of each sort. */
export function countRequests({ requests }: FakeHcloud): Record<string, number> {
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
