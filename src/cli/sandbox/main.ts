import { mkdirSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse, stringify } from "yaml";
import { openSecretFolder } from "#cli/clusters/clusters-file.ts";
import { createEndingSignal } from "#cli/process.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { getSignInRole } from "#config/sign-in.ts";
import { CONFIG_MAPS, formatCreationPath, LEASES, type Resource } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { groupByFunction, loadControllers } from "#functions/parts/controllers.ts";
import { createDeployedDependencies } from "#functions/parts/deployed-dependencies.ts";
import { connect } from "#kube/client/connect.ts";
import { getSystemCode } from "#kube/client/errors.ts";
import type { Transport } from "#kube/client/transport.ts";

// Starts two clusters, a cloud and a function platform to try a relay with (docs/tutorial/first-cluster.md);
// SIGINT or SIGTERM ends it.

const PROGRAM = fileURLToPath(new URL("../main.ts", import.meta.url));

/** The latency of each call to the cloud in milliseconds, as in the same region. */
const CLOUD_LATENCY_MS = 60;

/** The machines of each tenant at the start; the user starts more. */
const MACHINES = 3;

/** The clusters. The clusters file contains only the first; the user adds the second. */
const TENANTS = [
  { name: "tenant-a", vpc: "vpc-aaaaaaaaaaaaaaaaa" },
  { name: "tenant-b", vpc: "vpc-bbbbbbbbbbbbbbbbb" },
] as const;

/** The identities of the controllers that are on by default. */
const SIGNERS = ["relay", "node", "node-lifecycle"] as const;

/** The prefix of the sandbox's function names. */
const FUNCTION_PREFIX = "serverless-ccm-sandbox-";

/**
 * The controllers that the sandbox's cloud supports: its EC2 has instances, but no load balancers and no
 * route tables.
 */
const CONTROLLERS = ["cloud-node-controller", "cloud-node-lifecycle-controller"];

/** Lambda's timeout of a function, and the concurrency of an account, as deployed. */
const TIMEOUT_MS = 30_000;

const CONCURRENCY = 1_000;

/** Fake names and keys: the endpoints are on this machine. */
const SANDBOX_AWS = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "sandbox",
  AWS_SECRET_ACCESS_KEY: "sandbox",
  AWS_EC2_METADATA_DISABLED: "true",
} as const;

/** What an operator applies to a cluster besides rights, which the embedded API server grants itself. */
const STATE: readonly (readonly [Resource, string])[] = [
  [CONFIG_MAPS, "config-map.yaml"],
  [LEASES, "relay-lease.yaml"],
];

try {
  const { values } = parseArgs({ options: { folder: { type: "string", default: "sandbox" } } });
  const ending = createEndingSignal(undefined);
  const ended = new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
  const sandbox = await startSandbox(values.folder, PROGRAM);
  const folder = relative(process.cwd(), sandbox.folder) || ".";
  const lines = [
    ...sandbox.tenants.map(({ name, plane }) => `${name}: an API server at ${plane.server}`),
    `the cloud: EC2 at ${sandbox.ec2.url}, with three machines for each cluster`,
    `the functions: ${FUNCTION_PREFIX}node and others, behind Lambda's Invoke API at ${sandbox.functions.url}`,
    `in another terminal: . ${folder}/environment`,
    "Everything runs until Ctrl-C. The log of the functions follows:",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  await ended;
  await sandbox.close();
  // Warm functions keep connections open, and here no platform freezes them.
  process.exit();
} catch (error) {
  process.stderr.write(`sandbox: ${getErrorMessage(error)}\n`);
  process.exitCode = 1;
}

/** What `npm run sandbox` leaves running: everything but a relay, which the user starts. */
interface Sandbox {
  readonly folder: string;
  readonly tenants: readonly Tenant[];
  readonly ec2: Ec2Server;
  readonly functions: SandboxFunctions;
  /** Ends everything and removes the folder. */
  close(): Promise<void>;
}

/**
 * Starts two API servers, a cloud and a function platform, all on this machine, and writes their access data
 * into a new folder. `program` is what `serverless-ccm` runs there.
 */
async function startSandbox(folder: string, program: string): Promise<Sandbox> {
  makeFolder(folder);
  const { closing, close } = openSecretFolder(folder);
  try {
    const ec2 = closing(
      await startEc2({ region: SANDBOX_AWS.AWS_REGION, behaviour: { latencyMs: CLOUD_LATENCY_MS } }),
    );
    const tenants: Tenant[] = [];
    for (const { name, vpc } of TENANTS) {
      tenants.push(closing(await startTenant(join(folder, name), { name, vpc, region: ec2.region })));
      ec2.addInstances(Array.from({ length: MACHINES }, () => ({ vpcId: vpc })));
    }
    const clustersFile = join(folder, "clusters.yaml");
    await writeFile(
      clustersFile,
      stringify({ clusters: tenants.slice(0, 1).map(buildEntry) }, { lineWidth: 0 }),
    );
    const functions = closing(await startFunctions(clustersFile, ec2.url));
    await writeEnvironment(folder, { program, tenants, ec2: ec2.url, lambda: functions.url });
    return { folder, tenants, ec2, functions, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function buildEntry({ name, plane, cloud }: Tenant): ClusterEntry {
  const { server, certificateAuthorityFile, tokenFile } = plane;
  const signIn = SIGNERS.map((who) => [who, { kind: "token-file", file: tokenFile(who) }]);
  return { name, server, certificateAuthorityFile, signIn: Object.fromEntries(signIn), cloud };
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (getSystemCode(error) !== "EEXIST") throw error;
    throw new Error(
      `${folder} exists already: a sandbox runs there, or was killed; end it, or remove the folder`,
    );
  }
}

/** The functions of the sandbox, behind Lambda's Invoke API. */
interface SandboxFunctions {
  /** The value for AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the functions as when deployed: the clusters come from the file, which is read again after a change.
 */
async function startFunctions(clustersFile: string, ec2Url: string): Promise<SandboxFunctions> {
  // The SDK reads endpoint and keys from the environment, as on the platform.
  Object.assign(process.env, SANDBOX_AWS, { AWS_ENDPOINT_URL_EC2: ec2Url });
  const functions: Record<string, LambdaHandler> = {};
  const controllers = await loadControllers(CONTROLLERS);
  for (const [functionName, carried] of groupByFunction(controllers)) {
    const role = getSignInRole(functionName);
    const dependencies = createDeployedDependencies(role, { CLUSTERS_FILE: clustersFile });
    await dependencies.prepare();
    functions[FUNCTION_PREFIX + functionName] = createControllerFunction(carried, dependencies);
  }
  return startLambda({ functions, timeoutMs: TIMEOUT_MS, concurrency: CONCURRENCY });
}

/** The endpoints of the sandbox. */
interface Endpoints {
  readonly program: string;
  readonly tenants: readonly Tenant[];
  readonly ec2: string;
  readonly lambda: string;
}

/**
 * Writes `environment`, which a shell reads (`. sandbox/environment`), and `bin/serverless-ccm`, which is
 * then on its PATH. It is the folder's last file: when it exists, the sandbox is ready.
 */
async function writeEnvironment(folder: string, endpoints: Endpoints): Promise<void> {
  const bin = resolve(folder, "bin");
  await mkdir(bin);
  const program = join(bin, "serverless-ccm");
  // `exec` makes the program the very process that a shell started and kills.
  await writeFile(program, `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(endpoints.program)} "$@"\n`);
  await chmod(program, 0o755);
  const variables: Readonly<Record<string, string>> = {
    ...SANDBOX_AWS,
    // For every service, so that no command here reaches the real AWS.
    AWS_ENDPOINT_URL: endpoints.ec2,
    AWS_ENDPOINT_URL_EC2: endpoints.ec2,
    AWS_ENDPOINT_URL_STS: endpoints.ec2,
    AWS_ENDPOINT_URL_LAMBDA: endpoints.lambda,
    EC2: endpoints.ec2,
    ...Object.fromEntries(endpoints.tenants.map(({ name, plane }) => [formatVariable(name), plane.server])),
  };
  const lines = [
    `export PATH=${quote(`${bin}:${dirname(process.execPath)}`)}:"$PATH"`,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}`),
  ];
  await writeFile(join(folder, "environment"), `${lines.join("\n")}\n`, { mode: 0o600 });
}

function formatVariable(tenant: string): string {
  return tenant.toUpperCase().replaceAll("-", "_");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A cluster of the sandbox, with an API server and a network of its own. */
interface Tenant {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly cloud: ClusterEntry["cloud"];
  close(): Promise<void>;
}

/**
 * Starts an API server whose files are in a folder, among them `curl` for curl and `cloud.yaml` for `clusters
 * add`.
 */
async function startTenant(
  folder: string,
  { name, vpc, region }: { readonly name: string; readonly vpc: string; readonly region: string },
): Promise<Tenant> {
  const plane = await startEmbeddedControlPlane({ folder });
  const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
  const admin = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
  await applyState(admin);
  await admin.close();
  await plane.kubeconfig("admin");
  const curl = [
    `cacert = ${JSON.stringify(plane.certificateAuthorityFile)}`,
    `header = "Authorization: Bearer ${token}"`,
    'header = "Content-Type: application/json"',
  ];
  await writeFile(join(folder, "curl"), `${curl.join("\n")}\n`, { mode: 0o600 });
  await writeFile(join(folder, "cloud.yaml"), stringify({ region, vpc }));
  return { name, plane, cloud: { provider: "aws", region, vpc }, close: () => plane.close() };
}

async function applyState(admin: Transport): Promise<void> {
  for (const [resource, file] of STATE) {
    const body: unknown = parse(await readFile(join(PROJECT_FOLDER, "infra/state", file), "utf8"));
    const answer = await admin.send({
      method: "POST",
      path: formatCreationPath(resource, "kube-system"),
      body,
    });
    if (answer.status !== 201)
      throw new Error(`applying ${file} was answered ${answer.status}: ${answer.body}`);
  }
}
