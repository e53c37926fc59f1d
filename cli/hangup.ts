/** From now on SIGHUP ends this process no more than any other message would. */
export function outliveHangups(): void {
  process.on("SIGHUP", () => {});
}

/** Calls the listener at each SIGHUP, until what it returns is called. */
export function onHangup(listener: () => void): () => void {
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}
