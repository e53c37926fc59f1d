import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Tenant } from "#cli/sandbox/tenant.ts";

/** Names and keys that mean nothing: the endpoints are on this machine. */
export const SANDBOX_AWS = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "sandbox",
  AWS_SECRET_ACCESS_KEY: "sandbox",
  AWS_EC2_METADATA_DISABLED: "true",
} as const;

/** Where everything is. */
export interface Endpoints {
  readonly program: string;
  readonly tenants: readonly Tenant[];
  readonly ec2: string;
  readonly lambda: string;
}

/**
 * Writes `environment`, which a shell reads (`. sandbox/environment`), and `bin/serverless-ccm`, which it has on its PATH then. It is the last
 * file of the folder: who sees it may begin.
 */
export async function writeEnvironment(folder: string, endpoints: Endpoints): Promise<void> {
  const bin = resolve(folder, "bin");
  await mkdir(bin);
  const program = join(bin, "serverless-ccm");
  // `exec`, so that the process that a shell has started is the one that it kills.
  await writeFile(program, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(endpoints.program)} "$@"\n`);
  await chmod(program, 0o755);
  const variables: Readonly<Record<string, string>> = {
    ...SANDBOX_AWS,
    // Of every service: nothing that is typed here reaches the real AWS.
    AWS_ENDPOINT_URL: endpoints.ec2,
    AWS_ENDPOINT_URL_EC2: endpoints.ec2,
    AWS_ENDPOINT_URL_STS: endpoints.ec2,
    AWS_ENDPOINT_URL_LAMBDA: endpoints.lambda,
    EC2: endpoints.ec2,
    ...Object.fromEntries(endpoints.tenants.map(({ name, plane }) => [variableOf(name), plane.server])),
  };
  const lines = [
    `export PATH=${quoted(`${bin}:${dirname(process.execPath)}`)}:"$PATH"`,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`),
  ];
  await writeFile(join(folder, "environment"), `${lines.join("\n")}\n`, { mode: 0o600 });
}

function variableOf(tenant: string): string {
  return tenant.toUpperCase().replaceAll("-", "_");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
