import { createPlainMachines } from "#test/e2e/clouds/plain-machines.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

export async function stageNoCloud(): Promise<StagedCloud> {
  const add = createPlainMachines("no-cloud");
  const placed = { type: "r640", region: "fra", zone: "fra-rack-1" };
  return {
    provider: "no-cloud",
    config: {
      rules: [
        { networks: ["10.3.0.0/24"], instanceType: placed.type, region: placed.region, zone: placed.zone },
      ],
    },
    environment: {},
    add: () => ({ ...add(), ...placed }),
    requests: () => 0,
    close: async () => undefined,
  };
}
