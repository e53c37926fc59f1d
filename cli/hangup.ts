/** Keeps SIGHUP from ending this process. */
export function outliveHangups(): void {
  process.on("SIGHUP", () => {});
}

/** Calls the listener at each SIGHUP. Returns a function that ends that. */
export function onHangup(listener: () => void): () => void {
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}
