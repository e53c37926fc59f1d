import * as z from "zod";

/** Why a cloud capability failed. All of these are temporary, except `Denied` and `Invalid`. */
export const CapabilityErrorCode = z.enum(["Throttled", "Denied", "Invalid", "Unavailable", "Aborted"]);
export type CapabilityErrorCode = z.output<typeof CapabilityErrorCode>;

/**
 * A capability's answer to a question. `state` is JSON, whose meaning only the capability and its controller
 * know.
 */
export const Observation = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("observed"), state: z.unknown() }),
  z.strictObject({ kind: z.literal("error"), code: CapabilityErrorCode, message: z.string() }),
]);
export type Observation = z.output<typeof Observation>;

/** The cloud's own error code, such as `CertificateNotFound`. Only the operator sees it. */
interface RejectionDetails {
  readonly message: string;
  readonly reason?: string | undefined;
}

/**
 * The result of an action. `conflict`: the state is not what the action requires (`AlreadyExists`,
 * `Duplicate…`), so observe, then decide.
 */
export type ActionAnswer =
  | { readonly kind: "done"; readonly result: unknown }
  | ({ readonly kind: "conflict" } & RejectionDetails)
  | ({ readonly kind: "error"; readonly code: CapabilityErrorCode } & RejectionDetails);
