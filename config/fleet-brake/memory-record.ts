import type { RecordStore } from "#config/fleet-brake/record-store.ts";

/** A record in this process, which ends with it: for one process that is all the fleet has. */
export function memoryRecord(): RecordStore {
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
