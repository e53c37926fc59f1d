import { createPrivateKey } from "node:crypto";
import type { Cloud } from "#clouds/cloud.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { API_KEY, COMPARTMENT, REGION, TENANCY, USER, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { type FakeOci, startFakeOci } from "#test/clouds/oci/fake/server.ts";

/** A fake Oracle Cloud, and clouds on it that count their waits without waiting. */
export interface OciWorld {
  readonly fake: FakeOci;
  /** The waits in milliseconds; each moves the clock. */
  readonly slept: number[];
  /** Moves the clock of the clouds. */
  pass(ms: number): void;
  cloud(config?: Record<string, unknown>, options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

/** Builds a configuration as written, with the fake's hosts if its URL is given. */
export function buildWrittenConfig(traits: Record<string, unknown> = {}, url?: string) {
  const { auth, ...others } = traits;
  const hosts = { iaas: url, identity: url, loadBalancer: url, networkLoadBalancer: url };
  return {
    provider: "oci",
    auth: {
      region: REGION,
      tenancy: TENANCY,
      user: USER,
      fingerprint: API_KEY.fingerprint,
      keyFile: "/etc/oci/key.pem",
      ...(auth as Record<string, unknown> | undefined),
    },
    compartment: COMPARTMENT,
    vcn: VCN,
    ...(url === undefined ? {} : { endpoints: hosts }),
    ...others,
  };
}

/** Builds a parsed configuration. */
export function buildConfig(traits: Record<string, unknown> = {}, url?: string): OciCloudConfig {
  return OciCloudConfig.parse(buildWrittenConfig(traits, url));
}

export async function createNodeWorld(): Promise<OciWorld> {
  const fake = await startFakeOci();
  const slept: number[] = [];
  const clouds: Cloud[] = [];
  const key = createPrivateKey(API_KEY.pem);
  let now = 0;
  return {
    fake,
    slept,
    pass(ms) {
      now += ms;
    },
    cloud(config, options) {
      const made = createOciCloud(buildConfig(config, fake.url), async () => key, {
        sleep: async (delayMs) => {
          slept.push(delayMs);
          now += delayMs;
        },
        now: () => now,
        random: () => 0.5,
        ...options,
      });
      clouds.push(made);
      return made;
    },
    async close() {
      await Promise.all(clouds.map((cloud) => cloud.close()));
      await fake.close();
    },
  };
}

/** Builds the node of an instance, with its provider ID. */
export function buildIdentifiedNode({ id, displayName }: FakeInstance, traits: NodeTraits = {}) {
  return buildNode({ name: displayName, providerID: `oci://${id}`, ...traits });
}

/** Builds the node of an instance as a kubelet without provider ID registers it. */
export function buildNamedNode({ displayName }: FakeInstance) {
  return buildNode({ name: displayName });
}

/** Counts the requests of each sort: lists by their name, reads by name and `/id`. */
export function countRequests({ requests }: FakeOci): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path, query } of requests) {
    const [, , name = "", id] = path.split("/");
    const sort =
      id !== undefined ? `${name}/id` : query["instanceId"] === undefined ? name : `${name} of one`;
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}
