import { authOf } from "#clouds/openstack/auth.ts";
import { createOpenStackCloud } from "#clouds/openstack/cloud.ts";
import { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import { aNode } from "#test/clouds/builders.ts";
import { type FakedWorld, fakedWorld } from "#test/clouds/faked-world.ts";
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

/** What an application credential signs in with. */
export const SIGNED_IN = { OS_APPLICATION_CREDENTIAL_SECRET: SECRET, OS_PASSWORD: SECRET };

/** By tag and metadata, unless told otherwise. */
export function aConfig(traits: Record<string, unknown> = {}): OpenStackCloudConfig {
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

export async function aWorld(): Promise<OpenStackWorld> {
  const fake = await startFakeOpenStack();
  return fakedWorld(fake, (traits, options) => {
    const config = aConfig({ "auth-url": fake.authURL, ...traits });
    return createOpenStackCloud(config, authOf(config, SIGNED_IN, "blue"), options);
  });
}

/** The node of a server, with its provider ID. */
export function identified({ id, name }: FakeOpenStackServer) {
  return aNode({ name, providerID: `openstack:///${id}` });
}

/** The node of a server as a kubelet without provider ID registers it. */
export function named({ name }: FakeOpenStackServer) {
  return aNode({ name });
}

/** How many requests there were of each sort. */
export function asked({ requests }: FakeOpenStack): Record<string, number> {
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
