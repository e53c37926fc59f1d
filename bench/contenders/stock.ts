import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Contender } from "#bench/contenders/contender.ts";
import { awsEnvironment, runningProcesses } from "#bench/contenders/process-contender.ts";
import type { ContenderName } from "#bench/measurement.ts";
import { CLUSTER_TAG, STOCK_USER } from "#bench/stage.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { freePort } from "#emulators/harness/free-port.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/**
 * The stock AWS cloud-controller-manager with the one controller that ours is compared with: its lifecycle controller would ask
 * EC2 about every node here, as none of them is ever Ready. `flags` come on top of its defaults.
 */
export function stock(name: ContenderName, settings: string, flags: readonly string[]): Contender {
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
      await writeFile(cloudConfig, cloudConfigOf(ec2.region));
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
          `--secure-port=${await freePort()}`,
          `--cert-dir=${folder}`,
          ...flags,
        ],
        { environment: awsEnvironment(ec2.url, ec2.region) },
      );
      return runningProcesses([program]);
    },
  };
}

/** A controller that is not on EC2 is told where its cluster is; the subnet and the route table are never asked for. */
function cloudConfigOf(region: string): string {
  return `[Global]
Zone = ${region}a
VPC = ${DEFAULT_VPC_ID}
SubnetID = subnet-00000000000000001
KubernetesClusterID = ${CLUSTER_TAG}
`;
}
