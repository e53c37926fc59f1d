/** The result of one check: one line for people, and what to do. */
export interface CheckResult {
  /**
   * `failed`: something does not work, or will not; `skipped`: the check did not run, for the reason in the message.
   */
  readonly outcome: "ok" | "warning" | "failed" | "skipped";
  readonly message: string;
  /** Set for every outcome that needs action. */
  readonly remedy?: string | undefined;
}

/** Returns the result of a check without findings. */
export function reportOk(message: string): CheckResult {
  return { outcome: "ok", message };
}

/** Returns the result of a check that found a problem which does not stop the work. */
export function reportWarning(message: string, remedy: string): CheckResult {
  return { outcome: "warning", message, remedy };
}

/** Returns the result of a check that found something that does not work. */
export function reportFailure(message: string, remedy: string): CheckResult {
  return { outcome: "failed", message, remedy };
}

/** Returns the result of a check that did not run. */
export function reportSkipped(message: string): CheckResult {
  return { outcome: "skipped", message };
}
