import type { StopEntry } from "#config/switch/stops.ts";

/**
 * Why nobody knows what is stopped, or why that could not be changed: `Unreadable`, `Malformed`, `OtherVersion` of reading; `NotWritten`
 * and `Contended` of writing.
 */
export class StopSwitchError extends Error {
  override readonly name = "StopSwitchError";
  readonly code: "Unreadable" | "Malformed" | "OtherVersion" | "NotWritten" | "Contended";
  /** Where parts could be read: what they stop, and the most that each of the others may mean. */
  readonly stopped: readonly StopEntry[] | undefined;
  /** Whether this process lacks the right to read it that way. */
  readonly isDenied: boolean;

  constructor(
    code: StopSwitchError["code"],
    home: string,
    message: string,
    {
      cause,
      stopped,
      isDenied = false,
    }: {
      readonly cause?: unknown;
      readonly stopped?: readonly StopEntry[];
      readonly isDenied?: boolean;
    } = {},
  ) {
    super(`the stop switch ${home} ${message}`, { cause });
    this.code = code;
    this.stopped = stopped;
    this.isDenied = isDenied;
  }
}
