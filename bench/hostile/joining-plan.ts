import * as z from "zod";

const machine = z.strictObject({ name: z.string(), providerID: z.string() });

/** A planned cluster: nodes that exist from the beginning, and machines that join and leave. */
export const JoiningPlan = z.strictObject({
  name: z.string(),
  /** The folder of all files of its control plane. */
  folder: z.string(),
  nodes: z.array(machine).min(1),
  machines: z.array(machine).min(1),
});
export type JoiningPlan = z.output<typeof JoiningPlan>;
