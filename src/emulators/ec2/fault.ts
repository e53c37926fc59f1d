/** An error answer: HTTP status, AWS's error code, and a message. */
export interface Fault {
  readonly kind: "fault";
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Creates a fault; by default with 400, AWS's usual status for a caller's mistake. */
export function createFault(code: string, message: string, status = 400): Fault {
  return { kind: "fault", status, code, message };
}

/** Returns whether a result is a fault. */
export function isFault(value: object): value is Fault {
  return "kind" in value && value.kind === "fault";
}
