/** A provider ID that names nothing of this cloud: one of another cloud, or an invalid one. */
export interface RejectedProviderID {
  readonly kind: "foreign" | "invalid";
  readonly message: string;
}

/** Rejects a provider ID; `reason` says what it lacks. Anyone who writes a node may have chosen its text. */
export function rejectProviderID(
  kind: RejectedProviderID["kind"],
  text: string,
  reason: string,
): RejectedProviderID {
  return { kind, message: `"${text.slice(0, 300)}" is not a provider ID of this cloud: ${reason}` };
}
