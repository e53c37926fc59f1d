import { http } from "#test/platforms/contract/http.ts";
import { inProcess } from "#test/platforms/contract/in-process.ts";
import { lambda } from "#test/platforms/contract/lambda.ts";
import type { PlatformUnderTest } from "#test/platforms/contract/platform.ts";
import { serverlessOffline } from "#test/platforms/contract/serverless-offline.ts";

/** Every platform that runs the contract suite. */
export const PLATFORMS: readonly PlatformUnderTest[] = [lambda, http, serverlessOffline, inProcess];
