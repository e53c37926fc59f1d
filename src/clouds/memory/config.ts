import * as z from "zod";

/** The reference cloud with instances in a JSON file, for tests and trials. */
export const MemoryCloudConfig = z.strictObject({
  provider: z.literal("memory"),
  instancesFile: z.string().min(1),
});
export type MemoryCloudConfig = z.output<typeof MemoryCloudConfig>;
