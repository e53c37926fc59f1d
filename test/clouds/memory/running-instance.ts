import type { MemoryInstance } from "#clouds/memory/cloud.ts";

/** Builds a running instance of the memory cloud with a single address. */
export function buildRunningInstance(name: string, address: string): MemoryInstance {
  return {
    id: name,
    account: "account-1",
    network: "network-1",
    state: "running",
    providerID: `memory:///zone-a/${name}`,
    type: "m1.large",
    zone: "zone-a",
    region: "region-1",
    addresses: [{ type: "InternalIP", address }],
    labels: {},
  };
}

/** Returns an address for each index, up to some ten thousands. */
export function getAddress(index: number): string {
  return `10.0.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
