import type { DescribeInstancesResult } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createSharingLoader } from "#clouds/aws/shared-reads/sharing-loader.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import type { Node } from "#core/node/node.ts";
import { buildConfig, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { buildNode } from "#test/clouds/builders.ts";

/** A shared call that has arrived, and how it ends. */
export interface HeldCall {
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
  /** Answers with what EC2 has, or with this. */
  answer(result?: DescribeInstancesResult): void;
  fail(error: Error): void;
}

/** Clouds of one principal whose shared calls a test holds; calls of the clusters' own are answered at once. */
export interface HeldFleet {
  readonly world: Ec2World;
  /** The shared calls so far. */
  readonly calls: HeldCall[];
  readonly isClosed: () => boolean;
  cloud(clusterTag: string, config?: Partial<AwsCloudConfig>, options?: LoadCloudOptions): Cloud;
}

/**
 * Creates a fleet in which each cluster has an idle neighbour of its principal, unless `hasNeighbours` is false: a
 * cluster that is alone makes its own calls.
 */
export function createHeldFleet(world = new Ec2World(), hasNeighbours = true): HeldFleet {
  const calls: HeldCall[] = [];
  let isClosed = false;
  const sharedEc2: Ec2 = {
    describeInstances: (request, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<DescribeInstancesResult>();
      const [filter] = request.Filters ?? [];
      calls.push({
        ids: filter?.Values ?? [],
        signal,
        answer: (result) =>
          result === undefined ? resolve(world.describeInstances(request, signal)) : resolve(result),
        fail: reject,
      });
      return promise;
    },
    describeNetworkInterfaces: () => Promise.reject(new Error("a shared session describes instances only")),
    describeAvailabilityZones: () => Promise.reject(new Error("a shared session describes instances only")),
    describeInstanceTopology: () => Promise.reject(new Error("a shared session describes instances only")),
    close() {
      isClosed = true;
    },
  };
  const load = createSharingLoader({
    ec2: world,
    sharedEc2,
    now: () => world.nowMs,
    wallClock: () => Date.parse("2026-01-01T00:01:00Z") + world.nowMs,
    sleep: async (delayMs) => {
      world.nowMs += delayMs;
    },
  });
  return {
    world,
    calls,
    isClosed: () => isClosed,
    cloud(clusterTag, config = {}, options = {}) {
      if (hasNeighbours) load(buildConfig({ clusterTag: "neighbour", ...config }), options);
      return load(buildConfig({ clusterTag, ...config }), { clusterName: clusterTag, ...options });
    },
  };
}

/** Returns the tags of a cluster's machine. */
export const tagsOf = (...clusters: readonly string[]) =>
  clusters.map((cluster) => ({ Key: `kubernetes.io/cluster/${cluster}`, Value: "owned" }));

/** Builds a node that names its machine by provider ID. */
export function buildClaimingNode(id: string | undefined, name = `node-${id}`): Node {
  return buildNode({ name, providerID: `aws:///eu-central-1a/${id}` });
}
