import { createPrivateKey } from "node:crypto";
import type { Cloud } from "#clouds/cloud.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/kind.ts";
import { aNode, type NodeTraits } from "#test/clouds/builders.ts";
import { API_KEY, COMPARTMENT, REGION, TENANCY, USER, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { type FakeOci, startFakeOci } from "#test/clouds/oci/fake/server.ts";

/** A fake Oracle Cloud, and clouds on it whose waits are counted and not waited. */
export interface OciWorld {
  readonly fake: FakeOci;
  /** What was slept, in milliseconds; the clock goes on by as much. */
  readonly slept: number[];
  /** Lets the clock of the clouds go on. */
  pass(ms: number): void;
  cloud(config?: Record<string, unknown>, options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

/** A configuration as it is written, with the fake's hosts where its URL is given. */
export function aWriting(traits: Record<string, unknown> = {}, url?: string) {
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

/** The same, parsed. */
export function aConfig(traits: Record<string, unknown> = {}, url?: string): OciCloudConfig {
  return OciCloudConfig.parse(aWriting(traits, url));
}

export async function aWorld(): Promise<OciWorld> {
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
      const made = createOciCloud(aConfig(config, fake.url), async () => key, {
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

/** The node of an instance, with its provider ID. */
export function identified({ id, displayName }: FakeInstance, traits: NodeTraits = {}) {
  return aNode({ name: displayName, providerID: `oci://${id}`, ...traits });
}

/** The node of an instance as a kubelet without provider ID registers it. */
export function named({ displayName }: FakeInstance) {
  return aNode({ name: displayName });
}

/** How many requests there were of each sort: lists by their name, reads by name and `/id`. */
export function asked({ requests }: FakeOci): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path, query } of requests) {
    const [, , name = "", id] = path.split("/");
    const sort =
      id !== undefined ? `${name}/id` : query["instanceId"] === undefined ? name : `${name} of one`;
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}
