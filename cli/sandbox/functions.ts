import { SANDBOX_AWS } from "#cli/sandbox/write-environment.ts";
import { signInRoleOf } from "#config/sign-in.ts";
import { type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import { lambdaDependencies } from "#functions/parts/lambda-dependencies.ts";

/** The functions of the sandbox, behind Lambda's Invoke API. */
export interface SandboxFunctions {
  /** For AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  close(): Promise<void>;
}

/** What the names of the sandbox's functions begin with. */
export const FUNCTION_PREFIX = "serverless-ccm-sandbox-";

/** Those whose clouds the sandbox has: its EC2 knows instances, and neither load balancers nor route tables. */
const CONTROLLERS = ["cloud-node-controller", "cloud-node-lifecycle-controller"];

/** Lambda's time-out of a function, and the concurrency of an account, as deployed. */
const TIMEOUT_MS = 30_000;
const CONCURRENCY = 1_000;

/** Starts the functions as they are when deployed: clusters are those of the file, read again where it has changed. */
export async function startFunctions(clustersFile: string, ec2Url: string): Promise<SandboxFunctions> {
  // The SDK takes endpoint and keys from the environment, as it does on the platform.
  Object.assign(process.env, SANDBOX_AWS, { AWS_ENDPOINT_URL_EC2: ec2Url });
  const functions: Record<string, LambdaHandler> = {};
  for (const controller of await loadControllers(CONTROLLERS)) {
    const role = signInRoleOf(controller.functionName);
    const dependencies = lambdaDependencies(role, { CLUSTERS_FILE: clustersFile });
    await dependencies.prepare();
    functions[FUNCTION_PREFIX + controller.functionName] = controllerFunction(controller, dependencies);
  }
  return startLambda({ functions, timeoutMs: TIMEOUT_MS, concurrency: CONCURRENCY });
}
