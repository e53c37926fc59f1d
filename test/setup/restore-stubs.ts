import { afterAll, vi } from "vitest";

// Files share a worker: stubs and fake timers of one must not reach the next.
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});
