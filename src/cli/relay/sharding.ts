import { randomBytes } from "node:crypto";
import {
  connectManagement,
  parseManagementReference,
  readPodNamespace,
} from "#cli/clusters/management-cluster.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import { joinByLease } from "#relay/sharding/lease-membership.ts";
import { createStaticMembership, type Membership, type MembershipNote } from "#relay/sharding/membership.ts";
import { createShard, type Shard } from "#relay/sharding/shard.ts";

/** The flags by which replicas share the clusters of a registry. */
export interface ShardFlags {
  /** `kubernetes:[FILE][?namespace=NAME]`: the cluster with the Leases. */
  readonly shardBy?: string | undefined;
  /** All replicas, separated by commas. */
  readonly shardReplicas?: string | undefined;
  /** The name of this replica. */
  readonly shardName?: string | undefined;
}

/** Joins the replicas with this process. */
export type JoinShard = (log: (line: Readonly<Record<string, unknown>>) => void) => Promise<Shard>;

/** The format of Kubernetes object names. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const MAX_REPLICAS = 100;
/**
 * Nothing is followed until the live replicas are known, for at most this long; after that, as soon as they
 * are known.
 */
const KNOWN_WITHIN_MS = 5_000;

/** Reads how the clusters are shared; undefined if they are not. It does not join the replicas yet. */
export async function readSharding(
  flags: ShardFlags,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<JoinShard | undefined> {
  const { shardBy, shardReplicas } = flags;
  if (shardBy === undefined && shardReplicas === undefined) {
    if (flags.shardName !== undefined)
      faults.push({
        name: "--shard-name",
        message: "requires --shard-by or --shard-replicas",
      });
    return undefined;
  }
  if (shardBy !== undefined && shardReplicas !== undefined)
    faults.push({ name: "--shard-replicas", message: "replicas are known by --shard-by or by a list" });
  const self = readName(flags.shardName ?? environment["POD_NAME"], faults);
  if (shardBy !== undefined) return readLeases(shardBy, self, environment, faults);
  const replicas = readReplicas(shardReplicas ?? "", self, faults);
  return async (log) => {
    log({ level: "info", event: "ReplicasChanged", replica: self, replicas });
    return createShard(createStaticMembership(self, replicas));
  };
}

function readName(name: string | undefined, faults: ConfigurationFault[]): string {
  if (name === undefined || name === "")
    faults.push({ name: "--shard-name", message: "is required: which replica this is (default: $POD_NAME)" });
  else if (!NAME.test(name))
    faults.push({ name: "--shard-name", message: `"${name}" is not a name of a replica, such as relay-a` });
  return name ?? "";
}

function readReplicas(text: string, self: string, faults: ConfigurationFault[]): readonly string[] {
  const fault = (message: string): void => void faults.push({ name: "--shard-replicas", message });
  const replicas = text.split(",").map((each) => each.trim());
  for (const each of replicas)
    if (!NAME.test(each)) fault(`"${each}" is not a name of a replica, such as relay-a`);
  for (const [each, same] of Map.groupBy(replicas, (name) => name))
    if (same.length > 1) fault(`"${each}" stands there ${same.length} times`);
  if (replicas.length > MAX_REPLICAS) fault(`${replicas.length} replicas; there can be ${MAX_REPLICAS}`);
  if (self !== "" && !replicas.includes(self)) fault(`"${self}", which this one is, is not among them`);
  return replicas;
}

async function readLeases(
  reference: string,
  self: string,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<JoinShard | undefined> {
  const fault = (message: string): void => void faults.push({ name: "--shard-by", message });
  const parsed = parseManagementReference(reference);
  if (parsed === undefined) {
    fault(`"${reference}" is not known; write kubernetes:, or kubernetes:FILE?namespace=NAME`);
    return undefined;
  }
  const namespace = parsed.namespace ?? (await readPodNamespace(parsed, environment));
  if (namespace === undefined) {
    fault(`"${reference}" says no namespace for the Leases; write ${reference}?namespace=NAME`);
    return undefined;
  }
  return async (log) => {
    const membership = joinByLease({
      ...{ self, namespace, clock: systemClock, random: Math.random },
      identity: randomBytes(4).toString("hex"),
      connect: () => connectManagement(reference),
      note: (note) => log(formatMembershipNote(self, note)),
    });
    await waitUntilKnown(membership);
    return createShard(membership);
  };
}

async function waitUntilKnown(membership: Membership): Promise<void> {
  const known = new AbortController();
  const unsubscribe = membership.onChange(() => known.abort());
  if (membership.replicas() === undefined) await pause(systemClock, KNOWN_WITHIN_MS, known.signal);
  unsubscribe();
}

const GOES_ON = "it continues with its clusters, and the others follow them, too";

function formatMembershipNote(replica: string, note: MembershipNote): Readonly<Record<string, unknown>> {
  switch (note.kind) {
    case "changed":
      return { level: "info", event: "ReplicasChanged", replica, replicas: note.replicas };
    case "cut-off":
      return {
        level: "warn",
        event: "ReplicaCutOff",
        replica,
        message: `${note.message}; ${note.wasHeard ? GOES_ON : "it follows nothing until it can make its Lease"}`,
      };
    case "back":
      return { level: "info", event: "ReplicaBack", replica };
    case "name-taken":
      return {
        level: "error",
        event: "ReplicaNameTaken",
        replica,
        message: `${note.holder} renews the same Lease; give each replica a --shard-name of its own`,
      };
  }
}
