/**
 * Why nobody knows what is stopped, or why that could not be changed: `Unreadable`, `Malformed`, `OtherVersion` of reading; `NotWritten`
 * and `Contended` of writing.
 */
export class StopSwitchError extends Error {
  override readonly name = "StopSwitchError";
  readonly code: "Unreadable" | "Malformed" | "OtherVersion" | "NotWritten" | "Contended";

  constructor(code: StopSwitchError["code"], home: string, message: string, cause?: unknown) {
    super(`the stop switch ${home} ${message}`, { cause });
    this.code = code;
  }
}
