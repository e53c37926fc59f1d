/** Resolves with undefined as soon as the signal aborts. */
export function raceAbort<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", abort));
}
