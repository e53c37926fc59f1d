import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Tenant } from "#cli/sandbox/tenant.ts";

/** Fake names and keys: the endpoints are on this machine. */
export const SANDBOX_AWS = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "sandbox",
  AWS_SECRET_ACCESS_KEY: "sandbox",
  AWS_EC2_METADATA_DISABLED: "true",
} as const;

/** The endpoints of the sandbox. */
export interface Endpoints {
  readonly program: string;
  readonly tenants: readonly Tenant[];
  readonly ec2: string;
  readonly lambda: string;
}

/**
 * Writes `environment`, which a shell reads (`. sandbox/environment`), and `bin/serverless-ccm`, which is
 * then on its PATH. It is the folder's last file: when it exists, the sandbox is ready.
 */
export async function writeEnvironment(folder: string, endpoints: Endpoints): Promise<void> {
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
