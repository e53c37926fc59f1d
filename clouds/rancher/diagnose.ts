import type { Diagnosis } from "#clouds/diagnosis.ts";
import { signedBy } from "#clouds/http/api.ts";
import { classify, unanswered } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpAnswer } from "#clouds/http/client.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { readAuthority } from "#clouds/rancher/certificate-authority.ts";
import { type RancherCloudConfig, TOKEN_VARIABLE } from "#clouds/rancher/kind.ts";
import { ApiGroup, CLUSTER_LABEL, Machine, MachinesPage } from "#clouds/rancher/machine.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import { failed, ok, warning } from "#core/finding.ts";

/** Looks for what is wrong with `existence: rancher`; undefined where nobody is asked. Rejects where the token or a file cannot be had. */
export async function diagnoseRancher(
  config: RancherCloudConfig,
  environment: Environment = process.env,
): Promise<Diagnosis | undefined> {
  const server = config.rancher;
  if (server === undefined) return undefined;
  const { url, cluster, namespace } = server;
  const sign = signedBy(
    tokenOf(server, {
      variable: TOKEN_VARIABLE,
      key: "rancher.tokenFile",
      environment,
      clusterName: cluster,
    }),
  );
  const client = createHttpClient(url, { authority: await readAuthority(server.caFile) });
  let answered: Promise<{ readonly answer: HttpAnswer; readonly at: number }> | undefined;

  const send = async (path: string, signal: AbortSignal) => {
    const { headers } = await sign({ method: "GET", path, body: undefined });
    const answer = await client.send(
      { method: "GET", path, headers: { ...headers, accept: "application/json" } },
      signal,
    );
    return { answer, at: Date.now() };
  };

  async function group(signal: AbortSignal) {
    answered ??= send(GROUP, signal);
    try {
      return classify((await answered).answer, `GET ${GROUP}`, readError);
    } catch (cause) {
      return { kind: "fault", fault: unanswered(cause, `GET ${GROUP}`) } as const;
    }
  }

  async function machines(version: string, signal: AbortSignal) {
    const what = "GET …/machines";
    const query = new URLSearchParams({ labelSelector: `${CLUSTER_LABEL}=${cluster}`, limit: "500" });
    try {
      const { answer } = await send(`${GROUP}/${version}/namespaces/${namespace}/machines?${query}`, signal);
      return classify(answer, what, readError);
    } catch (cause) {
      return { kind: "fault", fault: unanswered(cause, what) } as const;
    }
  }

  return {
    async credentials(signal) {
      const outcome = await group(signal);
      if (outcome.kind === "fault") return failed(outcome.fault.message, remedyOf(outcome.fault));
      if (ApiGroup.safeParse(outcome.value).success) return ok(`${url} accepts the token`);
      return failed(`GET ${GROUP}: the answer is no API group`, SERVER);
    },
    async network(signal) {
      const outcome = await group(signal);
      const version =
        outcome.kind === "ok" ? ApiGroup.safeParse(outcome.value).data?.preferredVersion.version : undefined;
      if (version === undefined) return failed("the version of Cluster API is not known", SERVER);
      const listed = await machines(version, signal);
      if (listed.kind === "fault") return failed(listed.fault.message, remedyOf(listed.fault));
      const page = MachinesPage.safeParse(listed.value).data;
      if (page === undefined) return failed("GET …/machines: the answer is no list of Machines", SERVER);
      const count = (page.items ?? []).filter((item) => Machine.safeParse(item).success).length;
      const where = `namespace ${namespace} of ${url}`;
      if (count === 0) return warning(`${where}: no Machine of cluster ${cluster}`, NO_MACHINES);
      const least = page.metadata.continue ? `at least ${count}` : `${count}`;
      return ok(`${where}: ${least} ${count === 1 ? "Machine" : "Machines"} of cluster ${cluster}`);
    },
    async clockAheadMs(signal) {
      answered ??= send(GROUP, signal);
      const { answer, at } = await answered;
      const date = Date.parse(answer.headers["date"] ?? "");
      if (Number.isNaN(date)) return undefined;
      // The header has whole seconds: what is less than one behind is none.
      const ahead = date - at;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    close: () => client.close(),
  };
}

const GROUP = "/k8s/clusters/local/apis/cluster.x-k8s.io";
const SERVER = "see rancher.url: it has to be that of a Rancher with Cluster API";
const RETRY = "run doctor again; see rancher.url, rancher.caFile and the network";
const TOKEN =
  "see that the token has not expired, and that its user may list machines.cluster.x-k8s.io in that namespace of the local cluster";
const NO_MACHINES =
  "see rancher.cluster and rancher.namespace; set existence: none for a cluster that was imported, as it has no Machines";

function remedyOf({ code, status }: Fault): string {
  if (status === 404) return SERVER;
  return code === "Denied" ? TOKEN : RETRY;
}
