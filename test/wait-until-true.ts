/** The options of `vi.waitFor`: its default of one second is too short on a loaded machine. */
export const WAIT = { timeout: 60_000 };

/** Polls until the condition holds; rejects after a minute with a description of it. */
export async function waitUntilTrue(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
