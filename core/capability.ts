import * as z from "zod";

/** Why a capability of a cloud could not do or say something; all of them pass by themselves but `Denied` and `Invalid`. */
export const CapabilityErrorCode = z.enum(["Throttled", "Denied", "Invalid", "Unavailable", "Aborted"]);
export type CapabilityErrorCode = z.output<typeof CapabilityErrorCode>;

/** What a capability says of what it was asked; `state` is JSON, and what it means is the capability's and its controller's. */
export const Observation = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("observed"), state: z.unknown() }),
  z.strictObject({ kind: z.literal("error"), code: CapabilityErrorCode, message: z.string() }),
]);
export type Observation = z.output<typeof Observation>;

/** The cloud's own word for why, such as `CertificateNotFound`; for whoever knows the cloud, and shown to nobody else. */
interface Refused {
  readonly message: string;
  readonly reason?: string | undefined;
}

/**
 * What came of an action. `conflict`: what is there is not what the action presupposes (`AlreadyExists`, `Duplicate…`), so
 * observe, then decide.
 */
export type ActionAnswer =
  | { readonly kind: "done"; readonly result: unknown }
  | ({ readonly kind: "conflict" } & Refused)
  | ({ readonly kind: "error"; readonly code: CapabilityErrorCode } & Refused);
