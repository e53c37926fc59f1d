import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";
import { createLaunchLook } from "#clouds/aws/look-ahead/launches.ts";
import { chooseInstance, isMissingOrForeign, type Resolution } from "#clouds/aws/resolution.ts";
import type { LookAhead } from "#clouds/aws/resolve.ts";
import { createExpiringMap } from "#core/bounded-map.ts";
import type { AheadMode } from "#core/instance.ts";

/** An answer of EC2 serves a node that joins within this time; an address may have changed after it. */
const MAX_AGE_MS = 120_000;

/** A thousand nodes that join at once, and as many that are announced meanwhile. */
const MAX_INSTANCES = 2_000;

/** Characters of all kept answers; an instance with one interface and ten tags has about 1,500. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** The time in which a node's answer is not kept once more after it was used, as long as launches are looked at. */
const USED_MS = 5 * 60_000;

/** Returns what uses the store in a mode, with the look at launches or without. */
export type SelectLookAhead = (mode: AheadMode, launches: boolean) => LookAhead;

/** The clocks of a store. */
export interface LookAheadClocks {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Creates an empty store of answers, which checks ownership again when an answer is used. Each answer is used
 * once: a second try asks EC2.
 */
export function createLookAheads({ now, wallClock }: LookAheadClocks): SelectLookAhead {
  const store = createAnswerStore(now);
  const used = createExpiringMap<string, true>({ ttlMs: USED_MS, limit: MAX_INSTANCES, now });
  const take = (key: string): FoundInstance | undefined => {
    used.set(key, true);
    return store.take(key);
  };
  /** Replaces what was kept under a key, unless the look-up failed. */
  const replace = (key: string, resolution: Resolution | undefined): void => {
    if (
      resolution?.kind === "answer" &&
      resolution.answer.kind === "error" &&
      !isMissingOrForeign(resolution)
    )
      return;
    store.replace(key, resolution?.kind === "instance" ? resolution.found : undefined);
  };
  const nothing = () => new Map();
  const ignore = () => {};
  const keep: LookAhead = {
    takeByID: nothing,
    takeByName: nothing,
    keepByID(ids, resolutions) {
      for (const [node, id] of ids) replace(id, resolutions.get(node));
    },
    keepByName(nodes, resolutions) {
      for (const node of nodes) replace(node.metadata.name, resolutions.get(node));
    },
  };
  const use: LookAhead = {
    takeByID: (ids) =>
      new Map(
        [...new Set(ids)].flatMap((id) => {
          const found = take(id);
          return found === undefined ? [] : [[id, found] as const];
        }),
      ),
    takeByName: (nodes, cluster) =>
      new Map(
        nodes.flatMap((node) => {
          const { name } = node.metadata;
          const found = take(name);
          const search = `node ${name}, looked up before it joined`;
          const resolution = found && chooseInstance([found], cluster, search);
          return resolution === undefined ? [] : [[node, resolution] as const];
        }),
      ),
    keepByID: ignore,
    keepByName: ignore,
  };
  const modes = { keep, use };
  const lookAtLaunches = createLaunchLook({
    now,
    wallClock,
    keep(key, found) {
      if (!used.has(key)) store.replace(key, found);
    },
  });
  return (mode, launches) => ({ ...modes[mode], ...(launches ? { lookAtLaunches } : {}) });
}

interface KeptAnswer {
  readonly json: string;
  readonly keptMs: number;
}

interface AnswerStore {
  /** Keeps the instance under the key if it runs, in place of what was kept there. */
  replace(key: string, found: FoundInstance | undefined): void;
  /** Returns and removes what is kept under the key. */
  take(key: string): FoundInstance | undefined;
}

function createAnswerStore(now: () => number): AnswerStore {
  // A Map keeps insertion order, so its first entries are the oldest.
  const answers = new Map<string, KeptAnswer>();
  let characters = 0;

  function remove(key: string): KeptAnswer | undefined {
    const answer = answers.get(key);
    if (answer === undefined) return undefined;
    answers.delete(key);
    characters -= answer.json.length;
    return answer;
  }

  function isExpired({ keptMs }: KeptAnswer): boolean {
    return now() - keptMs > MAX_AGE_MS;
  }

  function removeOldest(): void {
    for (const [key, answer] of answers) {
      const isWithinLimits = answers.size <= MAX_INSTANCES && characters <= MAX_CHARACTERS;
      if (isWithinLimits && !isExpired(answer)) return;
      remove(key);
    }
  }

  return {
    replace(key, found) {
      remove(key);
      if (found?.instance.State?.Name !== "running") return;
      const { id, account, instance } = found;
      const json = JSON.stringify({ id, account, instance: selectFacts(instance) });
      answers.set(key, { json, keptMs: now() });
      characters += json.length;
      removeOldest();
    },
    take(key) {
      removeOldest();
      const answer = remove(key);
      return answer === undefined ? undefined : (JSON.parse(answer.json) as FoundInstance);
    },
  };
}

/** Returns the parts of an instance that answers are built from. */
function selectFacts(instance: Ec2Instance): Ec2Instance {
  const { InstanceId, InstanceType, State, Placement, VpcId, Tags, NetworkInterfaces } = instance;
  const { PrivateDnsName, PrivateIpAddress, PublicDnsName, PublicIpAddress } = instance;
  return {
    ...{ InstanceId, InstanceType, State, Placement, VpcId, Tags },
    ...{ PrivateDnsName, PrivateIpAddress, PublicDnsName, PublicIpAddress },
    NetworkInterfaces: NetworkInterfaces?.map(
      ({ Status, Attachment, PrivateIpAddresses, Ipv6Addresses }) => ({
        ...{ Status, PrivateIpAddresses, Ipv6Addresses },
        Attachment: { DeviceIndex: Attachment?.DeviceIndex },
      }),
    ),
  };
}
