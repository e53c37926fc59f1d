import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { openAnyRegistry } from "#cli/clusters/management-cluster.ts";
import { connectCluster } from "#cli/clusters/reach-cluster.ts";
import { followClusters } from "#cli/relay/follow-clusters.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import type { ClustersFollower } from "#cli/relay/serve.ts";
import type { AddressRules } from "#config/address-rules.ts";
import { CAPI_LABEL, CAPI_TYPE, CLUSTER_LABEL } from "#config/registry/kubernetes/found-cluster.ts";
import type { Event } from "#core/event.ts";
import { type KubeApiserver, OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { registerNode } from "#test/cli/register-node.ts";
import {
  DEFAULTS,
  formatKubeconfig,
  type ManagementStage,
  startManagement,
} from "#test/config/registry/kubernetes/management-stage.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const SERVICE_ACCOUNTS = fileURLToPath(new URL("../../infra/rbac/service-accounts", import.meta.url));
const LOOPBACK: AddressRules = { trustsEntries: false, networks: ["127.0.0.0/8"] };

describeWithPart("control-plane", "tenants whose kubeconfigs lie in a management cluster", (binaries) => {
  let folder: string;
  let stage: ManagementStage;
  let tenants: readonly KubeApiserver[];
  let namespace: string;
  let reference: string;
  let relay: Relay;
  let follower: ClustersFollower;
  let lines: Readonly<Record<string, unknown>>[];
  let events: Event[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "management-cluster-"));
    stage = await startManagement(binaries);
    const manifests = [...OUR_MANIFESTS, SERVICE_ACCOUNTS];
    tenants = await Promise.all(
      ["blue", "green"].map((name) =>
        startKubeApiserver({ folder: join(folder, name), binaries, manifests }),
      ),
    );
    for (const tenant of tenants) await registerNode(tenant, "node-1");
    await writeFile(join(folder, "defaults.yaml"), DEFAULTS);
  });
  afterAll(async () => {
    await Promise.all((tenants ?? []).map((tenant) => tenant.close()));
    await stage?.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    ({ namespace } = await stage.openNamespace());
    reference = `kubernetes:${await stage.plane.kubeconfig("admin")}?namespace=${namespace}`;
    lines = [];
    events = [];
  });
  afterEach(async () => {
    follower?.stop();
    await relay?.close();
    await follower?.stopped;
  });

  async function adminToken(tenant: KubeApiserver): Promise<string> {
    return (await readFile(tenant.tokenFile("admin"), "utf8")).trim();
  }
  /**
   * Returns a tenant's kubeconfig as the creator of its control plane left it, with an administrator's
   * rights.
   */
  async function kubeconfigOf(tenant: KubeApiserver | undefined, user: object = {}): Promise<string> {
    if (tenant === undefined) throw new Error("there is no such tenant");
    const authority = Buffer.from(await readFile(tenant.certificateAuthorityFile, "utf8")).toString("base64");
    return formatKubeconfig(
      tenant.server,
      { token: await adminToken(tenant), ...user },
      { "certificate-authority-data": authority },
    );
  }
  async function putBlue(user: object = {}): Promise<void> {
    const data = { kubeconfig: await kubeconfigOf(tenants[0], user) };
    const annotations = { "serverless-ccm.io/name": "blue" };
    await stage.putSecret({
      namespace,
      name: "blue",
      labels: { [CLUSTER_LABEL]: "true" },
      annotations,
      data,
    });
  }
  async function putGreen(): Promise<void> {
    const data = { value: await kubeconfigOf(tenants[1]) };
    const labels = { [CAPI_LABEL]: "green" };
    await stage.putSecret({ namespace, name: "green-kubeconfig", type: CAPI_TYPE, labels, data });
  }

  async function start(rules: AddressRules): Promise<void> {
    relay = startRelay({
      clusters: [],
      invoker: {
        async invoke(event) {
          events.push(event);
          return {
            kind: "report",
            report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 0.1 })),
          };
        },
        close: async () => {},
      },
      identity: "test",
      nodeStatusUpdateFrequencySeconds: 100_000,
    });
    const log = (line: Readonly<Record<string, unknown>>): void => void lines.push(line);
    const home = await openAnyRegistry(reference, { clusterDefaults: join(folder, "defaults.yaml") }, []);
    follower = followClusters({
      registry: home,
      content: await home.read(),
      followed: [],
      keep: (name, signal, already) =>
        keepCluster(
          name,
          { relay, connect: (cluster) => connectRelay(cluster, rules), log, signal, retryMs: 10 },
          already,
        ),
      log,
      intervalMs: 50,
    });
  }
  const ready = (...names: readonly string[]): Promise<void> =>
    waitUntilTrue(`${names} to be ready: ${JSON.stringify(lines)}`, () =>
      names.every((name) => relay.ready(name)),
    );
  const said = (event: string, cluster: string) =>
    lines.filter((line) => line["event"] === event && line["cluster"] === cluster);
  const untilSaid = (event: string, cluster: string): Promise<void> =>
    waitUntilTrue(`${event} of ${cluster}`, () => said(event, cluster).length > 0);
  const goesOn = async (name: string): Promise<void> => {
    const before = events.filter(({ cluster }) => cluster === name).length;
    await waitUntilTrue(
      `${name} to go on`,
      () => events.filter(({ cluster }) => cluster === name).length > before,
    );
  };

  test("are followed by tokens of a ServiceAccount, come and go without a restart, and a faulty one affects only itself", async () => {
    await putBlue();
    await start(LOOPBACK);
    await ready("blue");
    await putGreen();
    const green = `${namespace}.green`;
    await ready("blue", green);
    await goesOn("blue");
    await goesOn(green);

    // Deployed functions would receive none of it, which is reported.
    const warnings = lines.filter(({ event }) => event === "ConfigurationDoubtful");
    expect(JSON.stringify(warnings[0])).toContain("cluster blue: signIn.functions: tokens are minted");

    // The restricted identity did the work; the administrator has only requested its token.
    for (const tenant of tenants) {
      const records = (await tenant.record()).filter(({ verb }) => verb === "list" || verb === "watch");
      const users = new Set(records.filter(({ resource }) => resource === "nodes").map(({ user }) => user));
      expect([...users]).toEqual(["system:serviceaccount:kube-system:serverless-ccm-relay"]);
      const minted = (await tenant.record()).filter(({ subresource }) => subresource === "token");
      expect(minted.map(({ user, name, code }) => [user, name, code])).toEqual([
        ["admin", "serverless-ccm-relay", 201],
      ]);
    }

    await putBlue({ exec: { command: "sh" } });
    await untilSaid("ClusterEntryFaulty", "blue");
    await goesOn("blue");
    await goesOn(green);
    await putBlue();
    await waitUntilTrue("the fault to be over", () => {
      return relay.status().find(({ name }) => name === "blue")?.configurationFault === undefined;
    });

    await stage.ask("DELETE", `/api/v1/namespaces/${namespace}/secrets/green-kubeconfig`);
    await untilSaid("ClusterRemoved", green);
    expect(relay.status().map(({ name }) => name)).toEqual(["blue"]);
    await goesOn("blue");

    const told = JSON.stringify([lines, events, relay.status()]);
    for (const tenant of tenants) expect(told).not.toContain(await adminToken(tenant));
  });

  test("continue while the management cluster is unreachable, which is reported once", async () => {
    await putBlue();
    await start(LOOPBACK);
    await ready("blue");
    await stage.plane.stopServer();
    const faulty = () => lines.filter(({ event }) => event === "ClustersFileFaulty");
    await waitUntilTrue("it to be said", () => faulty().length > 0);
    await goesOn("blue");
    await stage.plane.startServer();
    expect(faulty()).toMatchObject([{ code: "Unreadable", file: reference }]);
    expect(relay.ready("blue")).toBe(true);
  });

  test("are not connected if the operator has allowed no internal address", async () => {
    await putBlue();
    const before = (await tenants[0]?.record())?.length;
    await start({ trustsEntries: false, networks: ["10.0.0.0/8"] });
    await untilSaid("SignInUnusable", "blue");
    expect(said("SignInUnusable", "blue")[0]?.["message"]).toContain("127.0.0.1 is internal");
    expect((await tenants[0]?.record())?.length).toBe(before);
  });

  test("get a token only from the API server of their entry", async () => {
    await putBlue();
    const home = await openAnyRegistry(reference, { clusterDefaults: join(folder, "defaults.yaml") }, []);
    const [blue] = (await home.read()).clusters;
    if (blue === undefined) throw new Error("there is no blue");
    const elsewhere = { ...blue, server: tenants[1]?.server ?? "" };
    await expect(connectRelay(elsewhere, LOOPBACK)).rejects.toThrow(
      "is of another API server than the cluster's entry",
    );
  });

  test("are reached by commands as each function, with its own token", async () => {
    await putBlue();
    const flags = {
      clustersFile: reference,
      clusterDefaults: join(folder, "defaults.yaml"),
      allowedNetworks: "127.0.0.0/8",
      given: new Set(["--clusters-file"]),
      clusterName: "kubernetes",
      cloudProvider: undefined,
      controllers: "*",
    };
    const reached = await connectCluster("blue", flags as never, {});
    const api = await reached.api("node-lifecycle");
    const review = await api.send({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    expect(JSON.parse(review.body).status.userInfo.username).toBe(
      "system:serviceaccount:kube-system:serverless-ccm-node-lifecycle",
    );
    await reached.close();
  });
});
