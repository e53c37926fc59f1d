import type { MemoryInstance } from "#clouds/memory/cloud.ts";

/** An instance of the memory cloud that runs, with the only address that it has. */
export function runningInstance(name: string, address: string): MemoryInstance {
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

/** An address for each index, up to some ten thousands. */
export function addressAt(index: number): string {
  return `10.0.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
