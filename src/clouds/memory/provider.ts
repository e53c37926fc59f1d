import * as z from "zod";
import { defineCloudProvider } from "#clouds/provider.ts";

/** The reference cloud with instances in a JSON file, for tests and trials. */
export const MemoryCloudConfig = z.strictObject({
  provider: z.literal("memory"),
  instancesFile: z.string().min(1),
});
export type MemoryCloudConfig = z.output<typeof MemoryCloudConfig>;

export const memory = defineCloudProvider({
  provider: "memory",
  forTrials: true,
  config: MemoryCloudConfig,
  environment: {},
  describeCredentialSource: () => "nowhere: it needs none",
  getQuotaKey: ({ instancesFile }) => `memory ${instancesFile}`,
  // Its file may give an instance any label.
  labelPrefixes: [""],
  async load({ instancesFile }) {
    const { createMemoryCloud, readMemoryInstances } = await import("#clouds/memory/cloud.ts");
    return createMemoryCloud(readMemoryInstances(instancesFile));
  },
  async importLoadBalancerModel() {
    return (await import("#clouds/memory/load-balancers/model.ts")).memoryLoadBalancerModel;
  },
  async describeLoadBalancer(_, state) {
    const { describeInMemory } = await import("#clouds/memory/load-balancers/model.ts");
    return describeInMemory(state);
  },
});
