import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { type SandboxFunctions, startFunctions } from "#cli/sandbox/functions.ts";
import { startTenant, type Tenant } from "#cli/sandbox/tenant.ts";
import { SANDBOX_AWS, writeEnvironment } from "#cli/sandbox/write-environment.ts";
import { openSecretFolder } from "#cli/secret-folder.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { getSystemCode } from "#kube/client/errors.ts";

/** What `npm run sandbox` leaves running: everything but a relay, which the user starts. */
export interface Sandbox {
  readonly folder: string;
  readonly tenants: readonly Tenant[];
  readonly ec2: Ec2Server;
  readonly functions: SandboxFunctions;
  /** Ends everything and removes the folder. */
  close(): Promise<void>;
}

/** The latency of each call to the cloud in milliseconds, as in the same region. */
const CLOUD_LATENCY_MS = 60;

/** The machines of each tenant at the start; the user starts more. */
const MACHINES = 3;

/** The clusters. The clusters file contains only the first; the user adds the second. */
const TENANTS = [
  { name: "tenant-a", vpc: "vpc-aaaaaaaaaaaaaaaaa" },
  { name: "tenant-b", vpc: "vpc-bbbbbbbbbbbbbbbbb" },
] as const;

/**
 * Starts two API servers, a cloud and a function platform, all on this machine, and writes their access data
 * into a new folder. `program` is what `serverless-ccm` runs there.
 */
export async function startSandbox(folder: string, program: string): Promise<Sandbox> {
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

/** The identities of the controllers that are on by default. */
const SIGNERS = ["relay", "node", "node-lifecycle"] as const;

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
