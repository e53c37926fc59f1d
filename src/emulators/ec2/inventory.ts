import { buildInstance, type InstanceSite } from "./build-instance.ts";
import { applyState, type Ec2Instance, type InstanceStateName, type NetworkInterface } from "./instance.ts";
import type { InstanceSpec, VisibleAfter } from "./instance-spec.ts";

/** An entry with its place in the order of creation, which pages follow. */
export interface Listed<T> {
  readonly sequence: number;
  readonly value: T;
}

/** Names that find instances without a scan. */
export type IndexName = "id" | "private-dns-name" | "private-ip-address";

/**
 * The instances and network interfaces. Readers see what the account owns and what is visible at the given
 * time; writers see everything, and a write to a missing entry throws.
 */
export interface Inventory {
  add(spec: InstanceSpec, visibleAfter: VisibleAfter, now: number): Ec2Instance;
  setState(id: string, state: InstanceStateName): void;
  /** Forgets an instance, as EC2 does about an hour after its end. */
  remove(id: string): void;
  reveal(id: string): void;
  /** Hides an instance until it is revealed. */
  hide(id: string): void;
  get(account: string, id: string, now: number): Listed<Ec2Instance> | undefined;
  all(account: string, now: number): Listed<Ec2Instance>[];
  /** Returns those with one of the values under that name, in order. */
  find(account: string, name: IndexName, values: readonly string[], now: number): Listed<Ec2Instance>[];
  /** Returns interfaces of the visible instances, in order. */
  networkInterfaces(account: string, now: number): Listed<NetworkInterface>[];
}

interface Entry {
  readonly sequence: number;
  value: Ec2Instance;
  /** Milliseconds since the epoch. */
  visibleAt: number;
}

/** Creates an empty inventory. */
export function createInventory(site: InstanceSite): Inventory {
  const entries = new Map<string, Entry>();
  const indexes = { "private-dns-name": createIndex(), "private-ip-address": createIndex() };
  let lastIndex = 0;
  let lastSequence = 0;

  function entryOf(id: string): Entry {
    const entry = entries.get(id);
    if (entry === undefined) throw new Error(`there is no instance ${id} in the inventory: add it first`);
    return entry;
  }

  function replace(entry: Entry, value: Ec2Instance | undefined): void {
    for (const name of INDEXED)
      for (const key of listIndexKeys(entry.value, name)) indexes[name].delete(key, entry);
    if (value === undefined) return;
    entry.value = value;
    for (const name of INDEXED) for (const key of listIndexKeys(value, name)) indexes[name].add(key, entry);
  }

  const inventory: Inventory = {
    add(spec, visibleAfter, now) {
      const index = spec.index ?? lastIndex + 1;
      const instance = buildInstance(spec, index, site, now);
      if (entries.has(instance.id)) throw new Error(`there is an instance ${instance.id} already`);
      lastIndex = Math.max(lastIndex, index);
      lastSequence += 1;
      const after = spec.visibleAfterMs ?? visibleAfter;
      const visibleAt = after === "until-revealed" ? Number.POSITIVE_INFINITY : now + after;
      const entry: Entry = { sequence: lastSequence, value: instance, visibleAt };
      entries.set(instance.id, entry);
      replace(entry, instance);
      return instance;
    },
    setState(id, state) {
      const entry = entryOf(id);
      if (entry.value.state === "terminated" && state !== "terminated") {
        throw new Error(`instance ${id} is terminated: that is for ever, so it cannot become ${state}`);
      }
      replace(entry, applyState(entry.value, state));
    },
    remove(id) {
      replace(entryOf(id), undefined);
      entries.delete(id);
    },
    reveal(id) {
      entryOf(id).visibleAt = Number.NEGATIVE_INFINITY;
    },
    hide(id) {
      entryOf(id).visibleAt = Number.POSITIVE_INFINITY;
    },
    get(account, id, now) {
      const entry = entries.get(id);
      return entry !== undefined && isVisible(entry, account, now) ? entry : undefined;
    },
    all: (account, now) => [...entries.values()].filter((entry) => isVisible(entry, account, now)),
    find(account, name, values, now) {
      const found = new Set<Entry>();
      for (const value of values) {
        const candidates = name === "id" ? [entries.get(value)] : indexes[name].get(value);
        for (const entry of candidates) {
          if (entry !== undefined && isVisible(entry, account, now)) found.add(entry);
        }
      }
      return [...found].sort((one, other) => one.sequence - other.sequence);
    },
    networkInterfaces(account, now) {
      return inventory.all(account, now).flatMap(({ sequence, value }) =>
        value.networkInterfaces.map((each, position) => ({
          sequence: sequence + position / 1000,
          value: each,
        })),
      );
    },
  };
  return inventory;
}

function isVisible(entry: Entry, account: string, now: number): boolean {
  return entry.value.ownerId === account && entry.visibleAt <= now;
}

const INDEXED = ["private-dns-name", "private-ip-address"] as const;

function listIndexKeys(instance: Ec2Instance, name: (typeof INDEXED)[number]): readonly string[] {
  switch (name) {
    case "private-dns-name":
      return [instance.privateDnsName];
    case "private-ip-address": {
      const addresses = instance.networkInterfaces.flatMap((each) => each.privateIpAddresses);
      return instance.privateIpAddress === undefined ? addresses : [instance.privateIpAddress, ...addresses];
    }
  }
}

interface Index {
  get(key: string): Iterable<Entry>;
  add(key: string, entry: Entry): void;
  delete(key: string, entry: Entry): void;
}

function createIndex(): Index {
  const byKey = new Map<string, Set<Entry>>();
  return {
    get: (key) => byKey.get(key) ?? [],
    add(key, entry) {
      const entries = byKey.get(key) ?? new Set();
      byKey.set(key, entries.add(entry));
    },
    delete(key, entry) {
      const entries = byKey.get(key);
      entries?.delete(entry);
      if (entries?.size === 0) byKey.delete(key);
    },
  };
}
