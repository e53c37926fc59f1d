import type { Diagnosis } from "#clouds/diagnosis.ts";
import { createSigner } from "#clouds/http/api.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { createDoctorApi } from "#clouds/http/doctor-api.ts";
import { memoize } from "#clouds/http/memoize.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Environment } from "#clouds/provider.ts";
import { type RancherCloudConfig, TOKEN_VARIABLE } from "#clouds/rancher/config.ts";
import { ApiGroup, CLUSTER_LABEL, Machine, MachinesPage } from "#clouds/rancher/list-machines.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { readAuthority } from "#platforms/secrets/read-secret.ts";

/**
 * Checks `existence: rancher`; undefined without that setting. Rejects if the token or a file cannot be read.
 */
export async function diagnoseRancher(
  config: RancherCloudConfig,
  environment: Environment = process.env,
): Promise<Diagnosis | undefined> {
  const server = config.rancher;
  if (server === undefined) return undefined;
  const { url, cluster, namespace } = server;
  const sign = createSigner(
    createAuthorizer(server, {
      variable: TOKEN_VARIABLE,
      key: "rancher.tokenFile",
      environment,
      clusterName: cluster,
    }),
  );
  const management = createDoctorApi({
    url,
    sign,
    readError,
    authority: await readAuthority(server.caFile),
  });
  const readGroup = memoize((signal: AbortSignal) => management.get(GROUP, `GET ${GROUP}`, signal));

  function listMachines(version: string, signal: AbortSignal): Promise<Outcome<unknown>> {
    const query = new URLSearchParams({ labelSelector: `${CLUSTER_LABEL}=${cluster}`, limit: "500" });
    const path = `${GROUP}/${version}/namespaces/${namespace}/machines?${query}`;
    return management.get(path, "GET …/machines", signal);
  }

  return {
    async credentials(signal) {
      const outcome = await readGroup(signal);
      if (outcome.kind === "fault") return reportFailure(outcome.fault.message, getRemedy(outcome.fault));
      if (ApiGroup.safeParse(outcome.value).success) return reportOk(`${url} accepts the token`);
      return reportFailure(`GET ${GROUP}: the answer is not an API group`, SERVER);
    },
    async network(signal) {
      const outcome = await readGroup(signal);
      const version =
        outcome.kind === "ok" ? ApiGroup.safeParse(outcome.value).data?.preferredVersion.version : undefined;
      if (version === undefined) return reportFailure("the version of Cluster API is unknown", SERVER);
      const listed = await listMachines(version, signal);
      if (listed.kind === "fault") return reportFailure(listed.fault.message, getRemedy(listed.fault));
      const page = MachinesPage.safeParse(listed.value).data;
      if (page === undefined)
        return reportFailure("GET …/machines: the answer is not a list of Machines", SERVER);
      const count = (page.items ?? []).filter((item) => Machine.safeParse(item).success).length;
      const where = `namespace ${namespace} of ${url}`;
      if (count === 0) return reportWarning(`${where}: no Machine of cluster ${cluster}`, NO_MACHINES);
      const total = page.metadata.continue ? `at least ${count}` : `${count}`;
      return reportOk(`${where}: ${total} ${count === 1 ? "Machine" : "Machines"} of cluster ${cluster}`);
    },
    async clockAheadMs(signal) {
      await readGroup(signal);
      return management.clockAheadMs();
    },
    close: management.close,
  };
}

const GROUP = "/k8s/clusters/local/apis/cluster.x-k8s.io";
const SERVER = "see rancher.url: it must be the URL of a Rancher with Cluster API";
const RETRY = "run doctor again; see rancher.url, rancher.caFile and the network";
const TOKEN =
  "see that the token has not expired, and that its user may list machines.cluster.x-k8s.io in that namespace of the local cluster";
const NO_MACHINES =
  "see rancher.cluster and rancher.namespace; set existence: none for a cluster that was imported, because it has no Machines";

function getRemedy({ code, status }: Fault): string {
  if (status === 404) return SERVER;
  return code === "Denied" ? TOKEN : RETRY;
}
