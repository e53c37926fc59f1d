import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Contender } from "#bench/contenders/contender.ts";
import { buildAwsEnvironment, createRunningContender } from "#bench/contenders/process-contender.ts";
import type { ContenderName } from "#bench/measurement.ts";
import { CLUSTER_TAG, STOCK_USER } from "#bench/stage.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/**
 * The stock AWS cloud-controller-manager with only the controller that ours is compared with. Its lifecycle
 * controller would read every node here from EC2, as no node is ever Ready. `flags` add to its defaults.
 */
export function createStockContender(
  name: ContenderName,
  settings: string,
  flags: readonly string[],
): Contender {
  return {
    name,
    title: `aws-cloud-controller-manager, ${settings}`,
    users: [STOCK_USER],
    async start({ stage, programs }) {
      const { plane, ec2, folder } = stage;
      const [kubeconfig, cloudConfig] = [join(folder, "stock.kubeconfig"), join(folder, "stock.conf")];
      await writeKubeconfig(kubeconfig, {
        cluster: "bench",
        server: plane.server,
        certificateAuthorityFile: plane.certificateAuthorityFile,
        user: STOCK_USER,
        tokenFile: plane.tokenFileOf(STOCK_USER),
      });
      await writeFile(cloudConfig, formatCloudConfig(ec2.region));
      const program = startProcess(
        programs.stock,
        [
          "--cloud-provider=aws",
          `--cloud-config=${cloudConfig}`,
          `--kubeconfig=${kubeconfig}`,
          `--cluster-name=${CLUSTER_TAG}`,
          "--controllers=cloud-node-controller",
          "--configure-cloud-routes=false",
          "--bind-address=127.0.0.1",
          `--secure-port=${await findFreePort()}`,
          `--cert-dir=${folder}`,
          ...flags,
        ],
        { environment: buildAwsEnvironment(ec2.url, ec2.region) },
      );
      return createRunningContender([program]);
    },
  };
}

/**
 * Builds the cloud configuration of a controller outside EC2; it never reads the subnet or the route table.
 */
function formatCloudConfig(region: string): string {
  return `[Global]
Zone = ${region}a
VPC = ${DEFAULT_VPC_ID}
SubnetID = subnet-00000000000000001
KubernetesClusterID = ${CLUSTER_TAG}
`;
}
