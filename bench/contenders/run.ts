import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Contender } from "#bench/contenders/contender.ts";
import { buildAwsEnvironment, createRunningContender } from "#bench/contenders/process-contender.ts";
import { CLUSTER_TAG } from "#bench/stage.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** `serverless-ccm run` as published, with only the required settings. */
export const run: Contender = {
  name: "run",
  title: "serverless-ccm run, defaults",
  users: OUR_USERS,
  async start({ stage, isAnnounced }) {
    const { plane, ec2, folder } = stage;
    const cloudConfig = join(folder, "cloud.yaml");
    await writeFile(cloudConfig, `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
    const program = startProcess(
      process.execPath,
      [
        PROGRAM,
        "run",
        "--cloud-provider=aws",
        `--cloud-config=${cloudConfig}`,
        `--cluster-name=${CLUSTER_TAG}`,
        ...(await buildIdentityFlags(plane)),
        "--port=0",
        ...(isAnnounced ? ["--look-ahead=node-claims"] : []),
      ],
      { environment: buildAwsEnvironment(ec2.url, ec2.region) },
    );
    return createRunningContender([program]);
  },
};

/** The built program: `npm run bench` builds it first. */
export const PROGRAM = fileURLToPath(new URL("../../dist/serverless-ccm.mjs", import.meta.url));
