/** An error answer: HTTP status, AWS's error code, and a message. */
export interface Fault {
  readonly kind: "fault";
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** A fault with AWS's usual status for a caller's mistake, 400, unless told otherwise. */
export function fault(code: string, message: string, status = 400): Fault {
  return { kind: "fault", status, code, message };
}

/** Tells a fault from any other outcome. */
export function isFault(value: object): value is Fault {
  return "kind" in value && value.kind === "fault";
}
