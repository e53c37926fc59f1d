import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** States in which an instance does not run or stops running; other events are ignored. */
const ENDING = ["stopping", "stopped", "shutting-down", "terminated"] as const;
const OTHERS = ["pending", "running"] as const;

const ACCOUNT = "the twelve digits of an account";
const INSTANCE = "an instance id such as i-0123456789abcdef0";

/** EventBridge's event for an instance state change, reduced to the instance id and the state. */
export const StateChange = z.object({
  source: z.literal("aws.ec2"),
  "detail-type": z.literal("EC2 Instance State-change Notification"),
  account: z.string(ACCOUNT).regex(/^\d{12}$/, ACCOUNT),
  region: z
    .string()
    .max(64)
    .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, "a region such as eu-central-1"),
  detail: z.object({
    "instance-id": z.string(INSTANCE).regex(/^i-([0-9a-f]{8}|[0-9a-f]{17})$/, INSTANCE),
    state: z.enum([...ENDING, ...OTHERS]),
  }),
});
export type StateChange = z.output<typeof StateChange>;

/** Whether an instance is stopping, stopped or terminated. */
export function isEnding({ detail: { state } }: StateChange): boolean {
  return (ENDING as readonly string[]).includes(state);
}

/** The input is not such an event, or not for this deployment; nothing was done. */
export class Ec2EventRejected extends Error {
  override readonly name = "Ec2EventRejected";
  readonly code = "Ec2EventRejected";

  constructor(words: string) {
    super(
      `this function takes "EC2 Instance State-change Notification" events of EventBridge, from accounts of its clusters; nothing was done: ${words}`,
    );
  }
}

/** Parses the input. Throws `Ec2EventRejected`, which names faults by path and quotes nothing. */
export function parseStateChange(value: unknown): StateChange {
  const parsed = StateChange.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = listFaults(parsed.error).slice(0, 5);
  const words = faults.map(({ path, message }) => `${path || "event"}: ${message}`).join("; ");
  throw new Ec2EventRejected(sanitizeText(words, 500));
}
