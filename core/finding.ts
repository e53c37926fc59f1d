/** What was looked at, in one line for people, and what to do about it. */
export interface Finding {
  /** `failed`: something does not work, or will not; `skipped`: it was not looked at, for a reason that is said. */
  readonly outcome: "ok" | "warning" | "failed" | "skipped";
  readonly message: string;
  /** Of everything that is not as it should be. */
  readonly remedy?: string | undefined;
}

/** It is as it should be. */
export function ok(message: string): Finding {
  return { outcome: "ok", message };
}

/** It works, and is not as it should be. */
export function warning(message: string, remedy: string): Finding {
  return { outcome: "warning", message, remedy };
}

/** It does not work. */
export function failed(message: string, remedy: string): Finding {
  return { outcome: "failed", message, remedy };
}

/** It was not looked at. */
export function skipped(message: string): Finding {
  return { outcome: "skipped", message };
}
