/** Returns the message of a thrown value of any type. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
