import { SANDBOX_AWS } from "#cli/sandbox/write-environment.ts";
import { getSignInRole } from "#config/sign-in.ts";
import { type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import { createLambdaDependencies } from "#functions/parts/lambda-dependencies.ts";

/** The functions of the sandbox, behind Lambda's Invoke API. */
export interface SandboxFunctions {
  /** The value for AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  close(): Promise<void>;
}

/** The prefix of the sandbox's function names. */
export const FUNCTION_PREFIX = "serverless-ccm-sandbox-";

/**
 * The controllers that the sandbox's cloud supports: its EC2 has instances, but no load balancers and no
 * route tables.
 */
const CONTROLLERS = ["cloud-node-controller", "cloud-node-lifecycle-controller"];

/** Lambda's timeout of a function, and the concurrency of an account, as deployed. */
const TIMEOUT_MS = 30_000;
const CONCURRENCY = 1_000;

/**
 * Starts the functions as when deployed: the clusters come from the file, which is read again after a change.
 */
export async function startFunctions(clustersFile: string, ec2Url: string): Promise<SandboxFunctions> {
  // The SDK reads endpoint and keys from the environment, as on the platform.
  Object.assign(process.env, SANDBOX_AWS, { AWS_ENDPOINT_URL_EC2: ec2Url });
  const functions: Record<string, LambdaHandler> = {};
  for (const controller of await loadControllers(CONTROLLERS)) {
    const role = getSignInRole(controller.functionName);
    const dependencies = createLambdaDependencies(role, { CLUSTERS_FILE: clustersFile });
    await dependencies.prepare();
    functions[FUNCTION_PREFIX + controller.functionName] = createControllerFunction(controller, dependencies);
  }
  return startLambda({ functions, timeoutMs: TIMEOUT_MS, concurrency: CONCURRENCY });
}
