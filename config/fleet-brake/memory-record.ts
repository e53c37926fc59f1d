import type { RecordStore } from "#config/fleet-brake/record-store.ts";

/** Creates a record in this process that ends with it. It suits a fleet with a single process. */
export function createMemoryRecord(): RecordStore {
  let text = "";
  let version = 1;
  return {
    name: "memory",
    read: async () => ({ kind: "stored", text, version: `${version}` }),
    async swap(next, read) {
      if (read !== `${version}`) return false;
      text = next;
      version += 1;
      return true;
    },
  };
}
