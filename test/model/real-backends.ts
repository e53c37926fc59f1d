import type { Cluster } from "#config/cluster.ts";
import { Cluster as ClusterSchema } from "#config/cluster.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import { startMotoClouds } from "./clouds/moto.ts";
import { startKubeApiserverClusters } from "./kube-apiserver-clusters.ts";
import type { Scenario } from "./scenario.ts";

/** Real programs in place of the parts in memory. */
export interface RealBackends {
  readonly moto: boolean;
  readonly kubeApiserver: boolean;
}

/** A scenario on programs that run until it is closed. */
export interface BackedScenario {
  readonly scenario: Scenario;
  close(): Promise<void>;
}

/**
 * Starts the programs. The AWS SDK finds moto by the environment, so a process or worker has one scenario at
 * a time.
 */
export async function startBackends(
  scenario: Scenario,
  { moto, kubeApiserver }: RealBackends,
): Promise<BackedScenario> {
  const withMoto = moto ? await onMoto(scenario) : { scenario, close: async () => {} };
  if (!kubeApiserver) return withMoto;
  const binaries = await getControlPlaneBinaries(say);
  if (binaries.kind === "missing") throw new Error(`there is no kube-apiserver: ${binaries.because}`);
  const { signedInAs, manifests } = scenario;
  const clusters = await startKubeApiserverClusters(binaries.value, signedInAs, [manifests]);
  return {
    scenario: { ...withMoto.scenario, createCluster: clusters.createCluster },
    async close() {
      await clusters.close();
      await withMoto.close();
    },
  };
}

async function onMoto(scenario: Scenario): Promise<BackedScenario> {
  const { name, cluster } = scenario;
  if (name !== "network" && name !== "classic")
    throw new Error(`${name} is not on moto: network and classic are`);
  const program = await getMotoProgram(say);
  if (program.kind === "missing") throw new Error(`there is no moto: ${program.because}`);
  const clouds = await startMotoClouds(program.value, name);
  return {
    scenario: { ...scenario, createCloud: clouds.createCloud, cluster: withCloud(cluster, clouds.config) },
    close: clouds.close,
  };
}

function withCloud({ name, server, controllers }: Cluster, cloud: object): Cluster {
  return ClusterSchema.parse({ name, server, controllers, cloud });
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
