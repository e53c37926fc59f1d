import { createAuth } from "#clouds/openstack/auth.ts";
import { createOpenStackCloud } from "#clouds/openstack/cloud.ts";
import { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { buildNode } from "#test/clouds/builders.ts";
import { createFakedWorld, type FakedWorld } from "#test/clouds/faked-world.ts";
import {
  CREDENTIAL,
  type FakeOpenStack,
  type FakeOpenStackServer,
  METADATA,
  REGION,
  SECRET,
  startFakeOpenStack,
  TAG,
} from "#test/clouds/openstack/fake-server.ts";

/** A fake OpenStack, and clouds on it. */
export type OpenStackWorld = FakedWorld<FakeOpenStack, Record<string, unknown>>;

/** The variables of a sign-in with an application credential. */
export const SIGNED_IN = { OS_APPLICATION_CREDENTIAL_SECRET: SECRET, OS_PASSWORD: SECRET };

/** Builds a configuration; by default by tag and metadata. */
export function buildConfig(traits: Record<string, unknown> = {}): OpenStackCloudConfig {
  return OpenStackCloudConfig.parse({
    provider: "openstack",
    "auth-url": "https://keystone.example.com:5000/v3",
    region: REGION,
    "application-credential-id": CREDENTIAL,
    "server-tag": TAG,
    "server-metadata": METADATA,
    ...traits,
  });
}

export async function createNodeWorld(): Promise<OpenStackWorld> {
  const fake = await startFakeOpenStack();
  return createFakedWorld(fake, (traits, options) => {
    const config = buildConfig({ "auth-url": fake.authURL, ...traits });
    return createOpenStackCloud(config, createAuth(config, SIGNED_IN, "blue"), options);
  });
}

/** Builds the node of a server, with its provider ID. */
export function buildIdentifiedNode({ id, name }: FakeOpenStackServer) {
  return buildNode({ name, providerID: `openstack:///${id}` });
}

/** Builds the node of a server as a kubelet without provider ID registers it. */
export function buildNamedNode({ name }: FakeOpenStackServer) {
  return buildNode({ name });
}

/** Counts the requests of each sort. */
export function countRequests({ requests }: FakeOpenStack): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path } of requests) {
    const sort = sortOf(path);
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}

function sortOf(path: string): string {
  if (path.startsWith("/identity/")) return "token";
  if (path.endsWith("/ports")) return "ports";
  return path.endsWith("/servers/detail") ? "list" : "read";
}
