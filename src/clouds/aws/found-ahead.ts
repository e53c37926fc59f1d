import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";

/** An answer of EC2 serves a node that joins within this time; an address may have changed after it. */
const MAX_AGE_MS = 120_000;

/** A thousand nodes that join at once, and as many that are announced meanwhile. */
const MAX_INSTANCES = 2_000;

/** Characters of all kept answers; an instance with one interface and ten tags has about 1,500. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * The instances of announced machines: what EC2 answered before their nodes joined. Ownership is checked again
 * when an answer is used, and each is used once: a second try asks EC2.
 */
export interface FoundAhead {
  /** Keeps a running instance under what it was looked up by: its id, or the node's exact name. */
  keep(key: string, found: FoundInstance): void;
  /** Returns and removes the instance that was looked up by this key. */
  take(key: string): FoundInstance | undefined;
}

interface KeptAnswer {
  readonly json: string;
  readonly keptMs: number;
}

/** Creates an empty store; `now` is a monotonic clock in milliseconds. */
export function createFoundAhead(now: () => number): FoundAhead {
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
    keep(key, { id, account, instance }) {
      if (instance.State?.Name !== "running") return;
      remove(key);
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
