import type { FunctionPlatform } from "#platforms/platform.ts";

/** Every function platform by its name. Its SDK is loaded with it. */
const PLATFORMS = {
  http: async () => (await import("#platforms/http/platform.ts")).http,
  lambda: async () => (await import("#platforms/lambda/platform.ts")).lambda,
} satisfies Record<string, () => Promise<FunctionPlatform>>;

export type PlatformName = keyof typeof PLATFORMS;

/** The names of all function platforms. */
export const PLATFORM_NAMES = Object.keys(PLATFORMS) as readonly PlatformName[];

/** The platform of the deployments that a relay invokes. */
export const DEFAULT_PLATFORM: PlatformName = "lambda";

/** Loads a function platform. A deployed function imports its own platform instead. */
export function loadPlatform(name: PlatformName = DEFAULT_PLATFORM): Promise<FunctionPlatform> {
  return PLATFORMS[name]();
}
