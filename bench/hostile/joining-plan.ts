import * as z from "zod";

const machine = z.strictObject({ name: z.string(), providerID: z.string() });

/** A cluster that is to be: nodes that stand there from the beginning, and machines that join and go. */
export const JoiningPlan = z.strictObject({
  name: z.string(),
  /** For all files of its control plane. */
  folder: z.string(),
  nodes: z.array(machine).min(1),
  machines: z.array(machine).min(1),
});
export type JoiningPlan = z.output<typeof JoiningPlan>;
