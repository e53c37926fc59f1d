import { afterAll, vi } from "vitest";

// Files share a worker: stubs, fake timers and environment variables of one must not reach the next, nor the
// programs that the next one starts.
const environment = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});
