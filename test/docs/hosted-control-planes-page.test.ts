import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, parse as parseYaml } from "yaml";
import * as z from "zod";
import { parseEntryDefaults } from "#config/registry/kubernetes/entry-defaults.ts";
import { createKubernetesRegistry } from "#config/registry/kubernetes/kubernetes-registry.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import {
  formatKubeconfig,
  type ManagementStage,
  startManagement,
} from "#test/config/registry/kubernetes/management-stage.ts";
import { parseShellBlocks } from "#test/docs/shell-blocks.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);
const page = await readFile(`${ROOT}docs/how-to/hosted-control-planes.md`, "utf8");
const sections = new Map(page.split(/^## /m).map((text) => [text.split("\n", 1)[0] ?? "", text]));
const sectionOf = (title: string): string => sections.get(title) ?? "";
const yamlIn = (title: string): readonly string[] =>
  [...sectionOf(title).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);

describe("the page on hosted control planes", () => {
  const named = (page.split("\n", 1)[0] ?? "").replace("# ", "").split(", ");

  test("has a section for each platform in its title", () => {
    expect(named).toContain("Kubermatic");
    expect(named.filter((title) => !sections.has(title))).toEqual([]);
  });

  test.each(named)("says in the first line on %s who can use it", (title) => {
    const [, , first] = sectionOf(title).split("\n");
    expect(first).toMatch(/^\*\*Works for .+\*\*/);
  });

  test("says in the first line on HyperShift that its own controller on AWS remains", () => {
    const [, , first] = sectionOf("HyperShift").split("\n");
    expect(first).toMatch(/`None` and `Agent`, and does not replace anything with `AWS`/);
  });
});

type Schema = Readonly<Record<string, unknown>>;
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: "object", properties });
const list = (items: Schema): Schema => ({ type: "array", items });
const TEXT: Schema = { type: "string" };
const ANYTHING: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/**
 * Builds a CRD of a platform with only the fields on the page, because strict validation rejects all others.
 */
function standIn(
  group: string,
  version: string,
  plural: string,
  kind: string,
  spec: Schema,
  status = ANYTHING,
) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        {
          name: version,
          ...{ served: true, storage: true },
          schema: { openAPIV3Schema: object({ spec, status }) },
        },
      ],
    },
  };
}

const ARGUMENTS = list(TEXT);
const KAMAJI = standIn(
  "kamaji.clastix.io",
  "v1alpha1",
  "tenantcontrolplanes",
  "TenantControlPlane",
  object({
    controlPlane: object({
      deployment: object({
        additionalVolumes: list(object({ name: TEXT, configMap: object({ name: TEXT }) })),
        additionalVolumeMounts: object({ apiServer: list(object({ name: TEXT, mountPath: TEXT })) }),
        extraArgs: object({ apiServer: ARGUMENTS, controllerManager: ARGUMENTS, scheduler: ARGUMENTS }),
      }),
    }),
  }),
);
const KUBEADM = standIn(
  "bootstrap.cluster.x-k8s.io",
  "v1beta2",
  "kubeadmconfigs",
  "KubeadmConfig",
  object({
    joinConfiguration: object({
      nodeRegistration: object({ kubeletExtraArgs: list(object({ name: TEXT, value: TEXT })) }),
    }),
  }),
);
const HOSTED_CLUSTERS = standIn(
  "hypershift.openshift.io",
  "v1beta1",
  "hostedclusters",
  "HostedCluster",
  ANYTHING,
  object({ kubeconfig: object({ name: TEXT }) }),
);

describeWithPart("control-plane", "the page on hosted control planes, on a real API server", (binaries) => {
  let stage: ManagementStage;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hosted-"));
    stage = await startManagement(binaries);
    for (const definition of [KAMAJI, KUBEADM, HOSTED_CLUSTERS]) {
      await stage.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
      const { group, names, versions } = definition.spec;
      const path = `/apis/${group}/${versions[0]?.name}/namespaces/default/${names.plural}`;
      await waitUntilTrue(
        `${names.plural} to be served`,
        async () => (await stage.admin.send({ method: "GET", path })).status === 200,
      );
    }
    await stage.ask("POST", "/api/v1/namespaces", {
      ...{ apiVersion: "v1", kind: "Namespace", metadata: { name: "clusters" } },
    });
  });
  afterAll(async () => {
    await stage?.close();
    await rm(folder, { recursive: true });
  });

  const readHome = () =>
    createKubernetesRegistry({
      ...{ reference: "kubernetes:", namespace: undefined },
      defaults: parseEntryDefaults("cloud: { provider: aws, region: eu-central-1 }", "defaults.yaml"),
      annotations: ["name", "controllers", "cloud.vpc"],
      connect: async () => connect(await getConnectOptions(stage.plane, "admin")),
    }).read();

  /** Runs the first block of a section as the administrator of the management cluster. */
  async function type(title: string): Promise<void> {
    const [block] = parseShellBlocks(sectionOf(title));
    const file = join(folder, "management.kubeconfig");
    await writeKubeconfig(file, {
      ...{ cluster: "management", user: "admin", server: stage.plane.server },
      certificateAuthorityFile: stage.plane.certificateAuthorityFile,
      tokenFile: stage.plane.tokenFile("admin"),
    });
    const env = { PATH: process.env["PATH"], KUBECONFIG: file, HOME: folder };
    await run("sh", ["-euc", block?.commands ?? "false"], { env });
  }

  const kubeconfig = async (server: string, user: Readonly<Record<string, string>>): Promise<string> =>
    formatKubeconfig(server, user, {
      "certificate-authority-data": Buffer.from((await createCertificateAuthority()).certificate).toString(
        "base64",
      ),
    });

  /** Creates an object of a CRD in a dry run, and returns the validation error. */
  async function tryOut({ spec: { group, names, versions } }: typeof KAMAJI, spec: unknown): Promise<string> {
    const version = versions[0]?.name ?? "";
    const path = `/apis/${group}/${version}/namespaces/default/${names.plural}?dryRun=All&fieldValidation=Strict`;
    const metadata = { name: "tenant-a" };
    const body = { apiVersion: `${group}/${version}`, kind: names.kind, metadata, spec };
    const answer = await stage.admin.send({ method: "POST", path, body });
    return answer.status === 201 ? "" : `${answer.status} ${answer.body}`;
  }

  describe("Kamaji", () => {
    const [written = ""] = yamlIn("Kamaji");
    const { spec } = parseYaml(written);

    test("accepts every field on the page", async () => {
      expect(await tryOut(KAMAJI, spec)).toBe("");
      expect(await tryOut(KAMAJI, { controlPlane: { deployment: { extraArg: {} } } })).toContain("extraArg");
    });

    test("finds the file at the path of the flag", () => {
      const { additionalVolumes, additionalVolumeMounts, extraArgs } = spec.controlPlane.deployment;
      const [mount] = additionalVolumeMounts.apiServer;
      expect(additionalVolumes.map(({ name }: { name: string }) => name)).toEqual([mount.name]);
      expect(extraArgs.apiServer).toEqual([`--authentication-config=${mount.mountPath}/config.yaml`]);
      expect(mount).not.toHaveProperty("subPath");
    });
  });

  test("Cluster API's kubeadm accepts the kubelet settings on the page", async () => {
    const [kubelets = "", defaults = ""] = yamlIn("Cluster API");
    expect(await tryOut(KUBEADM, { joinConfiguration: parseYaml(kubelets) })).toBe("");
    expect(parseAllDocuments(defaults)).toHaveLength(1);
    const entry = parseEntryDefaults(defaults, "defaults.yaml").forCluster({ name: "a", namespace: "b" });
    expect(entry).toMatchObject({
      cloud: { clusterTag: "a" },
      signIn: { functions: { audience: "serverless-ccm:b.a" } },
    });
  });

  describe("HyperShift", () => {
    const HOSTED = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters";
    const CERTIFICATE = { "client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5" };
    const SECRET = "tenant-a-admin-kubeconfig";
    /** The namespace that its control plane operator uses for the API server's resources. */
    const CONTROL_PLANE = "clusters-tenant-a";
    const CLUSTER = "cluster.x-k8s.io/cluster-name";
    const KEPT_THERE: readonly { name: string; key: string; labels: Readonly<Record<string, string>> }[] = [
      {
        name: "service-network-admin-kubeconfig",
        key: "kubeconfig",
        labels: { "hypershift.openshift.io/kubeconfig": "service" },
      },
      {
        name: "tenant-a-x7k2p-kubeconfig",
        key: "value",
        labels: { "hypershift.openshift.io/kubeconfig": "capi", [CLUSTER]: "tenant-a-x7k2p" },
      },
    ];

    /**
     * Creates what its operator creates: the HostedCluster, and its administrator's kubeconfig in the same
     * namespace.
     */
    async function host(server: string): Promise<void> {
      const apiVersion = "hypershift.openshift.io/v1beta1";
      const status = { kubeconfig: { name: SECRET } };
      const metadata = { name: "tenant-a" };
      await stage.ask("POST", HOSTED, { apiVersion, kind: "HostedCluster", metadata, spec: {}, status });
      await stage.putSecret({
        ...{ namespace: "clusters", name: SECRET },
        data: { kubeconfig: await kubeconfig(server, CERTIFICATE) },
      });
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: CONTROL_PLANE } };
      await stage.ask("POST", "/api/v1/namespaces", namespace);
      for (const { name, key, labels } of KEPT_THERE)
        await stage.putSecret({
          ...{ namespace: CONTROL_PLANE, name, type: "Opaque", labels },
          data: { [key]: await kubeconfig("https://kube-apiserver:6443", CERTIFICATE) },
        });
    }

    test("writes no kubeconfig that is missing on the page", () => {
      const rows = [...sectionOf("HyperShift").matchAll(/^\| `(\S+kubeconfig)` \|/gm)].map(
        ([, name]) => name,
      );
      const names = KEPT_THERE.map(({ name }) => name.replace("tenant-a-x7k2p", "INFRA_ID"));
      expect(rows).toEqual([SECRET.replace("tenant-a", "NAME"), "admin-kubeconfig", ...names]);
    });

    testWithPart("kubectl")(
      "finds the cluster by the labels on the page, and follows its kubeconfig",
      async () => {
        await host("https://10.1.2.3:6443");
        // The API server's other kubeconfigs do not count as clusters.
        expect((await readHome()).clusters).toEqual([]);
        await type("HyperShift");
        const found = {
          name: "tenant-a",
          cloud: { provider: "aws", vpc: "vpc-0123456789abcdef0" },
          signIn: { relay: { kind: "minted-token", secret: `clusters/${SECRET}`, key: "kubeconfig" } },
        };
        const content = await readHome();
        expect(content).toMatchObject({
          faulty: [],
          clusters: [{ ...found, server: "https://10.1.2.3:6443" }],
        });
        expect(JSON.stringify(content)).not.toContain("a2V5");

        // Its operator renews the certificate inside, and keeps foreign labels.
        const data = {
          kubeconfig: Buffer.from(await kubeconfig("https://10.1.2.4:6443", CERTIFICATE)).toString("base64"),
        };
        const path = `/api/v1/namespaces/clusters/secrets/${SECRET}`;
        await stage.ask("PATCH", path, { data }, "application/merge-patch+json");
        expect((await readHome()).clusters).toMatchObject([{ ...found, server: "https://10.1.2.4:6443" }]);
      },
    );

    testWithPart("kubectl")("finds the cluster of Kubermatic whose kubeconfig the page labels", async () => {
      const namespace = "cluster-xmpl4tq9wz";
      const metadata = { name: namespace };
      await stage.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
      const others = (await readHome()).clusters.map(({ name }) => name);
      for (const [name, server] of [
        ["admin-kubeconfig", "https://tenant-b.seed.example.com:6443"],
        ["internal-admin-kubeconfig", "https://apiserver-external.cluster-xmpl4tq9wz.svc.cluster.local.:443"],
      ] as const)
        await stage.putSecret({
          ...{ namespace, name },
          data: { kubeconfig: await kubeconfig(server, { token: "c2VjcmV0" }) },
        });
      expect((await readHome()).clusters.map(({ name }) => name)).toEqual(others);
      await type("Kubermatic");
      const { clusters, faulty } = await readHome();
      expect(faulty).toEqual([]);
      expect(clusters.filter(({ name }) => !others.includes(name))).toMatchObject([
        { name: "tenant-b", server: "https://tenant-b.seed.example.com:6443" },
      ]);
      expect(JSON.stringify(clusters)).not.toContain("c2VjcmV0");
    });

    test("lets the relay read that Secret, but no HostedCluster and no Shoot", async () => {
      for (const part of ["service-account.yaml", "kubernetes-home/read-clusters.yaml"]) {
        if (part === "service-account.yaml")
          await stage.ask("POST", "/api/v1/namespaces", {
            ...{ apiVersion: "v1", kind: "Namespace", metadata: { name: "serverless-ccm" } },
          });
        await stage.plane.apply(`${ROOT}infra/management/${part}`);
      }
      const Review = z.object({ status: z.object({ allowed: z.boolean() }) });
      const may = async (verb: string, resource: string, group = ""): Promise<boolean> => {
        const spec = {
          user: "system:serviceaccount:serverless-ccm:serverless-ccm-relay",
          resourceAttributes: { verb, group, resource, namespace: "clusters" },
        };
        const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
        const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        return Review.parse(JSON.parse(await stage.ask("POST", path, body))).status.allowed;
      };
      await waitUntilTrue("the rights to be in force", () => may("get", "secrets"));
      expect(await may("watch", "secrets")).toBe(true);
      for (const verb of ["get", "list", "watch", "create", "patch", "delete"]) {
        expect(await may(verb, "hostedclusters", "hypershift.openshift.io")).toBe(false);
        expect(await may(verb, "shoots", "core.gardener.cloud")).toBe(false);
      }
      for (const verb of ["create", "update", "patch", "delete"])
        expect([verb, await may(verb, "secrets")]).toEqual([verb, false]);
    });
  });
});
