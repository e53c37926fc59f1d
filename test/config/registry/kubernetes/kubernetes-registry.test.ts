import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { ClustersFile } from "#config/clusters-file.ts";
import { parseEntryDefaults } from "#config/registry/kubernetes/entry-defaults.ts";
import { CAPI_LABEL, CAPI_TYPE, CLUSTER_LABEL } from "#config/registry/kubernetes/found-cluster.ts";
import { createKubernetesRegistry } from "#config/registry/kubernetes/kubernetes-registry.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { connect } from "#kube/client/connect.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { getConnectOptions } from "#test/access.ts";
import { describeHome } from "#test/config/registry/contract.ts";
import {
  DEFAULTS,
  formatKubeconfig,
  type ManagementStage,
  startManagement,
  type WrittenSecret,
} from "#test/config/registry/kubernetes/management-stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const LABELS = { [CLUSTER_LABEL]: "true" };
const AUTHORITY = Buffer.from((await createCertificateAuthority()).certificate).toString("base64");
const SECRET_TOKEN = "s3cret-of-an-administrator";
const KUBECONFIG = formatKubeconfig(
  "https://10.1.2.3:6443",
  { token: SECRET_TOKEN },
  { "certificate-authority-data": AUTHORITY },
);

const MANAGEMENT = new URL("../../../../infra/management/", import.meta.url);

/** API servers tell the time of creation by the second. */
const untilNextSecond = (): Promise<void> => delay(1_050);

describeWithPart("control-plane", "a management cluster", (binaries) => {
  let stage: ManagementStage;
  beforeAll(async () => {
    stage = await startManagement(binaries);
  });
  afterAll(() => stage.close());

  describeHome("labelled Secrets", async () => {
    const { namespace, home } = await stage.openNamespace(undefined, { readsEntriesInSecrets: true });
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    return {
      home,
      write: (name, entry) =>
        stage.putSecret({ namespace, name, labels: LABELS, data: { entry: JSON.stringify(entry) } }),
      erase: async (name) => void (await stage.ask("DELETE", `${path}/${name}`)),
      break: () => stage.plane.stopServer(),
      mend: () => stage.plane.startServer(),
      close: () => stage.plane.startServer(),
    };
  });

  test("is read by a relay that may what infra/management grants, and no more", async () => {
    const { namespace } = await stage.openNamespace();
    await stage.putSecret({ namespace, name: "blue", labels: LABELS, data: { value: KUBECONFIG } });
    const ours = { apiVersion: "v1", kind: "Namespace", metadata: { name: "serverless-ccm" } };
    await stage.ask("POST", "/api/v1/namespaces", ours);
    for (const file of ["service-account.yaml", "kubernetes-home/read-clusters.yaml"])
      await stage.plane.apply(
        fileURLToPath(new URL(`../../../../infra/management/${file}`, import.meta.url)),
      );
    const minted = await stage.ask(
      "POST",
      "/api/v1/namespaces/serverless-ccm/serviceaccounts/serverless-ccm-relay/token",
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    );
    const { token } = JSON.parse(minted).status;
    const options = {
      ...(await getConnectOptions(stage.plane, "admin")),
      authorization: async () => `Bearer ${token}`,
    };
    const home = createKubernetesRegistry({
      reference: "kubernetes:",
      namespace: undefined,
      defaults: parseEntryDefaults(DEFAULTS, "defaults.yaml"),
      connect: async () => connect(options),
    });
    await waitUntilTrue("the rights to be in force", () =>
      home.read().then(
        () => true,
        () => false,
      ),
    );
    expect((await home.read()).clusters.map(({ name }) => name)).toContain(`${namespace}.blue`);
    const transport = connect(options);
    for (const path of ["/api/v1/nodes", "/api/v1/configmaps", `/api/v1/namespaces/${namespace}/pods`])
      expect((await transport.send({ method: "GET", path })).status, path).toBe(403);
    await transport.close();
  });

  describe("what is found", () => {
    /** Reads these Secrets as a registry and checks that the result holds no credential. */
    async function foundWith(
      given: string | undefined | { readonly defaults?: string; readonly annotations: readonly string[] },
      ...secrets: Omit<WrittenSecret, "namespace">[]
    ) {
      const { defaults, ...settings } = typeof given === "object" ? given : { defaults: given };
      const { namespace, home } = await stage.openNamespace(defaults, settings);
      for (const secret of secrets) await stage.putSecret({ namespace, ...secret });
      const content = await home.read();
      expect(JSON.stringify(content)).not.toContain(SECRET_TOKEN);
      return { namespace, content };
    }
    const faultsIn = ({ faulty }: ClustersFile): string[] =>
      faulty.flatMap(({ faults }) =>
        faults.map(({ document, subject, message }) => `${document}: ${subject}: ${message}`),
      );

    test("a labelled kubeconfig: its server and authority, the operator's defaults, and tokens to be minted", async () => {
      const defaults = `cloud: { provider: aws, region: eu-central-1, vpc: vpc-1, clusterTag: '\${name}' }\ncontrollers: [cloud-node-controller]`;
      const annotations = {
        "serverless-ccm.io/name": "blue",
        "serverless-ccm.io/cloud.vpc": "vpc-2",
        "serverless-ccm.io/controllers": "cloud-node-controller,csr-approver",
      };
      const secret = { name: "blue-secret", labels: LABELS, annotations, data: { kubeconfig: KUBECONFIG } };
      const counting = ["name", "controllers", "cloud.vpc"];
      const { namespace, content } = await foundWith({ defaults, annotations: counting }, secret);
      const minted = {
        kind: "minted-token",
        management: `kubernetes:?namespace=${namespace}`,
        secret: `${namespace}/blue-secret`,
        key: "kubeconfig",
      };
      expect(content).toMatchObject({
        faulty: [],
        clusters: [
          {
            name: "blue",
            server: "https://10.1.2.3:6443",
            certificateAuthorityData: AUTHORITY,
            cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-2", clusterTag: "blue-secret" },
            controllers: ["cloud-node-controller", "csr-approver"],
            signIn: { relay: minted, node: minted, sweep: minted },
          },
        ],
      });
    });

    test("Cluster API's kubeconfig, by namespace and name; not its authority, nor what another of its Secrets holds", async () => {
      const labels = { [CAPI_LABEL]: "green" };
      const { namespace, content } = await foundWith(
        undefined,
        { name: "green-kubeconfig", type: CAPI_TYPE, labels, data: { value: KUBECONFIG } },
        { name: "green-ca", type: CAPI_TYPE, labels, data: { "tls.key": SECRET_TOKEN } },
        { name: "green-user-kubeconfig", type: CAPI_TYPE, labels, data: { value: KUBECONFIG } },
        { name: "other", type: CAPI_TYPE, labels: { [CAPI_LABEL]: "other" }, data: { value: KUBECONFIG } },
        { name: "red-kubeconfig", labels: { [CAPI_LABEL]: "red" }, data: { value: KUBECONFIG } },
      );
      expect(content.clusters.map(({ name }) => name)).toEqual([`${namespace}.green`]);
      expect(content.faulty).toEqual([]);
    });

    test("functions sign in as the defaults say, where these say so", async () => {
      const defaults = `cloud: { provider: memory, instancesFile: x }\nsignIn: { functions: { kind: token-file, file: '/run/\${namespace}/\${name}' } }`;
      const secret = { name: "blue", labels: LABELS, data: { value: KUBECONFIG } };
      const { namespace, content } = await foundWith(defaults, secret);
      const { signIn } = content.clusters[0] ?? {};
      expect(Object.keys(signIn ?? {}).sort()).toEqual(["functions", "relay"]);
      expect(signIn?.functions).toEqual({ kind: "token-file", file: `/run/${namespace}/blue` });
    });

    test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
      ["runs a program", { exec: { command: "sh" } }, {}, "has exec, which is refused"],
      ["names a file", { tokenFile: "/etc/passwd" }, {}, "has tokenFile, which is refused"],
      [
        "is not verified",
        { token: "t" },
        { "insecure-skip-tls-verify": true },
        "insecure-skip-tls-verify, which is refused",
      ],
      [
        "goes through another",
        { token: "t" },
        { "proxy-url": "http://x" },
        "has proxy-url, which is refused",
      ],
      ["impersonates", { token: "t", as: "system:admin" }, {}, "has as, which is refused"],
      ["holds nothing to sign in with", {}, {}, "has neither token nor"],
      ["has no TLS", { token: "t" }, { server: "http://10.1.2.3" }, "has no https:// server"],
    ])("a kubeconfig that %s is a faulty entry by itself", async (_, user, cluster, says) => {
      const written = formatKubeconfig("https://10.1.2.3:6443", user, cluster);
      const { namespace, content } = await foundWith(
        undefined,
        { name: "blue", labels: LABELS, data: { value: KUBECONFIG } },
        { name: "red", labels: LABELS, data: { value: written } },
      );
      expect(content.clusters.map(({ name }) => name)).toEqual([`${namespace}.blue`]);
      expect(content.faulty.map(({ name }) => name)).toEqual([`${namespace}.red`]);
      expect(faultsIn(content).join()).toContain(says);
      expect(faultsIn(content).join()).toContain(`secret ${namespace}/red: cluster ${namespace}.red: `);
    });

    test("several faults of one entry are all reported, and so is an invalid cluster", async () => {
      const annotations = {
        "serverless-ccm.io/cloud.vcp": "vpc-1",
        "serverless-ccm.io/controllers": "Nothing here",
      };
      const { namespace, content } = await foundWith(
        "cloud: { provider: aws, region: nowhere }",
        { name: "red", labels: LABELS, annotations, data: { value: KUBECONFIG } },
        { name: "grey", labels: LABELS, data: { other: "x" } },
      );
      const told = faultsIn(content).join("\n");
      for (const says of [
        "cloud.vcp: unknown annotation; did you mean serverless-ccm.io/cloud.vpc?",
        "cloud.region: ",
        "controllers[0]: ",
        `secret ${namespace}/grey: cluster ${namespace}.grey: has neither entry nor kubeconfig nor value`,
      ])
        expect(told).toContain(says);
    });

    test("of two with one name the older has it, and the other one is held under its own", async () => {
      const annotations = { "serverless-ccm.io/name": "blue" };
      const { namespace, home } = await stage.openNamespace();
      const put = (name: string) =>
        stage.putSecret({ namespace, name, labels: LABELS, annotations, data: { value: KUBECONFIG } });
      await put("victim");
      await untilNextSecond();
      await put("attacker");
      const content = await home.read();
      expect(content.clusters.map(({ name, signIn }) => [name, signIn.relay])).toEqual([
        ["blue", expect.objectContaining({ secret: `${namespace}/victim` })],
      ]);
      expect(content.faulty).toMatchObject([{ name: `${namespace}.attacker`, held: "SameName" }]);
      expect(faultsIn(content)).toEqual([
        expect.stringContaining(`blue is the name of secret ${namespace}/victim, which is older`),
      ]);
    });

    test("of two with one tag of the operator's defaults the older is served, the other one held", async () => {
      const manifest = await readFile(new URL("kubernetes-home/cluster-defaults.yaml", MANAGEMENT), "utf8");
      const defaults: string = parse(manifest).data["cluster-defaults.yaml"];
      const teams = [await stage.openNamespace(), await stage.openNamespace()].map((each) => each.namespace);
      const labels = { [CAPI_LABEL]: "prod" };
      for (const namespace of teams) {
        const data = { value: KUBECONFIG };
        await stage.putSecret({ namespace, name: "prod-kubeconfig", type: CAPI_TYPE, labels, data });
        await untilNextSecond();
      }
      const home = createKubernetesRegistry({
        reference: "kubernetes:",
        namespace: undefined,
        defaults: parseEntryDefaults(defaults, "defaults.yaml"),
        connect: async () => connect(await getConnectOptions(stage.plane, "admin")),
      });
      const { clusters, faulty } = await home.read();
      const ours = <Named extends { readonly name: string | undefined }>(all: readonly Named[]) =>
        all.filter(({ name }) => teams.some((team) => name === `${team}.prod`));
      expect(ours(clusters).map(({ name, cloud }) => [name, Object(cloud)["clusterTag"]])).toEqual([
        [`${teams[0]}.prod`, "prod"],
      ]);
      expect(ours(faulty)).toMatchObject([{ name: `${teams[1]}.prod`, held: "SameOwnership" }]);
    });

    test("an entry in a Secret is read where the operator says so alone, and names no file and no secret", async () => {
      const relay = { kind: "token-file", file: "/var/run/secrets/kubernetes.io/serviceaccount/token" };
      const entry = { name: "red", server: "https://attacker.example", cloud: { provider: "no-cloud" } };
      const data = { entry: JSON.stringify({ ...entry, signIn: { relay } }) };
      const secret = { name: "red", labels: LABELS, data };
      const { namespace, content } = await foundWith(undefined, secret);
      expect(content.clusters).toEqual([]);
      expect(faultsIn(content)).toEqual([
        expect.stringMatching(/whole entry in a Secret.*--entries-in-secrets/),
      ]);
      const on = await stage.openNamespace(undefined, { readsEntriesInSecrets: true });
      await stage.putSecret({ namespace: on.namespace, ...secret });
      expect(faultsIn(await on.home.read())).toEqual([
        expect.stringContaining(`secret ${on.namespace}/red: cluster red: signIn.relay.file: names a file`),
      ]);
      const minted = (key: object) => ({
        signIn: { relay: { kind: "minted-token", key: "value", ...key } },
      });
      const own = { management: `kubernetes:?namespace=${on.namespace}`, secret: `${on.namespace}/x` };
      for (const [key, says] of [
        [{ ...own, management: "kubernetes:/etc/admin.kubeconfig" }, "another management cluster"],
        [{ ...own, secret: `${namespace}/victim-kubeconfig` }, "is not in the namespace"],
        [own, undefined],
      ] as const) {
        const written = { entry: JSON.stringify({ ...entry, ...minted(key) }) };
        await stage.putSecret({ namespace: on.namespace, name: "red", labels: LABELS, data: written });
        const faults = faultsIn(await on.home.read());
        expect(faults).toEqual(says === undefined ? [] : [expect.stringContaining(says)]);
      }
    });
  });

  describe("Kamaji's control planes", () => {
    let ending: AbortController | undefined;
    let following: Promise<void> | undefined;
    afterEach(async () => {
      ending?.abort();
      await following;
    });

    test("are found when their kind comes to be known, when they are ready, and go", async () => {
      const { namespace, home } = await stage.openNamespace();
      await stage.putSecret({ namespace, name: "first", labels: LABELS, data: { value: KUBECONFIG } });
      const heard: string[] = [];
      // A removal is proven by time alone, which stands still until the failure was heard.
      let nowMs = systemClock.now();
      ending = new AbortController();
      following = home.follow({
        signal: ending.signal,
        clock: { ...systemClock, now: () => nowMs },
        onContent: ({ clusters, faulty }) =>
          heard.push(
            [...clusters.map(({ name }) => name), ...faulty.map(({ name }) => `${name}!`)].sort().join(" "),
          ),
        onError: ({ message }) => heard.push(message),
        intervalMs: 20,
        random: () => 0,
      });
      const untilHeard = (last: string) =>
        waitUntilTrue(`${last} after ${heard}`, () => heard.at(-1) === last);
      await untilHeard(`${namespace}.first`);
      await stage.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        TENANT_CONTROL_PLANES,
      );
      const path = `/apis/kamaji.clastix.io/v1alpha1/namespaces/${namespace}/tenantcontrolplanes`;
      const plane = { apiVersion: "kamaji.clastix.io/v1alpha1", kind: "TenantControlPlane" };
      await waitUntilTrue(
        "the kind to be served",
        async () => (await stage.admin.send({ method: "GET", path })).status === 200,
      );
      await stage.ask("POST", path, { ...plane, metadata: { name: "tenant" } });
      await stage.ask("POST", path, {
        ...plane,
        metadata: { name: "of-capi", labels: { [CAPI_LABEL]: "x" } },
        status: READY,
      });
      // Its Secret does not exist yet.
      await stage.ask("PATCH", `${path}/tenant`, { status: READY }, "application/merge-patch+json");
      await untilHeard(`${namespace}.first ${namespace}.tenant!`);
      await stage.putSecret({ namespace, name: "tenant-admin", data: { "admin.conf": KUBECONFIG } });
      await stage.ask(
        "PATCH",
        `${path}/tenant`,
        { metadata: { annotations: { seen: "1" } } },
        "application/merge-patch+json",
      );
      await untilHeard(`${namespace}.first ${namespace}.tenant`);
      const { clusters } = await home.read();
      expect(clusters.find(({ name }) => name.endsWith("tenant"))?.signIn.relay).toMatchObject({
        secret: `${namespace}/tenant-admin`,
        key: "admin.conf",
      });
      await stage.ask("DELETE", `${path}/tenant`);
      await untilHeard(`${namespace}.first`);

      // Without the kind everything else is followed on, and the kind again when it returns.
      await stage.ask("POST", path, { ...plane, metadata: { name: "last" }, status: READY });
      await untilHeard(`${namespace}.first ${namespace}.last`);
      const kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      await stage.ask("DELETE", `${kinds}/${TENANT_CONTROL_PLANES.metadata.name}`);
      await untilHeard(`${namespace}.first`);
      await waitUntilTrue("the missing kind to be noticed", () =>
        heard.some((each) => each.includes("tenantcontrolplanes cannot be followed")),
      );
      nowMs += 60_000;
      await stage.putSecret({ namespace, name: "second", labels: LABELS, data: { value: KUBECONFIG } });
      await untilHeard(`${namespace}.first ${namespace}.second`);
      await stage.ask("POST", kinds, TENANT_CONTROL_PLANES);
      await waitUntilTrue(
        "the kind to be served again",
        async () => (await stage.admin.send({ method: "GET", path })).status === 200,
      );
      await stage.ask("POST", path, { ...plane, metadata: { name: "new" }, status: READY });
      await untilHeard(`${namespace}.first ${namespace}.new ${namespace}.second`);
    });
  });
});

const READY = {
  controlPlaneEndpoint: "10.1.2.3:6443",
  kubeconfig: { admin: { secretName: "tenant-admin" } },
};

const TENANT_CONTROL_PLANES = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "tenantcontrolplanes.kamaji.clastix.io" },
  spec: {
    group: "kamaji.clastix.io",
    scope: "Namespaced",
    names: { plural: "tenantcontrolplanes", singular: "tenantcontrolplane", kind: "TenantControlPlane" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};
