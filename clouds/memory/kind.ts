import * as z from "zod";
import { cloudKind } from "#clouds/kind.ts";

/** The reference cloud, whose instances stand in a JSON file; for trying things out and for tests. */
export const MemoryCloudConfig = z.strictObject({
  provider: z.literal("memory"),
  instancesFile: z.string().min(1),
});
export type MemoryCloudConfig = z.output<typeof MemoryCloudConfig>;

export const memory = cloudKind({
  provider: "memory",
  config: MemoryCloudConfig,
  environment: {},
  credentialSource: () => "nowhere: it needs none",
  quotaKey: ({ instancesFile }) => `memory ${instancesFile}`,
  // Its file may give an instance whatever label.
  labelPrefixes: [""],
  async load({ instancesFile }) {
    const { createMemoryCloud, readMemoryInstances } = await import("#clouds/memory/cloud.ts");
    return createMemoryCloud(readMemoryInstances(instancesFile));
  },
});
