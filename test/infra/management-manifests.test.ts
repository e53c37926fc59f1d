import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import * as z from "zod";
import { DRAIN_TIMEOUT_MS } from "#cli/relay/serve.ts";
import { connect } from "#kube/client/connect.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { joinByLease } from "#relay/sharding/lease-membership.ts";
import type { MembershipNote } from "#relay/sharding/membership.ts";
import { getConnectOptions } from "#test/access.ts";
import { startProgram } from "#test/cli/program.ts";
import { type ManagementStage, startManagement } from "#test/config/registry/kubernetes/management-stage.ts";
import {
  type DeploymentSpec,
  findManifest,
  getDeployment,
  getManifestPath,
  listResources,
  MANAGEMENT,
  type Manifest,
  parseManifests,
  readManifests,
} from "#test/infra/management-manifests.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);
const HOME = join(MANAGEMENT, "kubernetes-home");
const SHARDING = join(MANAGEMENT, "sharding");
const base = await readManifests(MANAGEMENT);
const home = await readManifests(HOME);
const sharding = await readManifests(SHARDING);
const OPERATOR = join(MANAGEMENT, "prometheus-operator");
const deployment = getDeployment(base);
const labels = deployment.template.metadata.labels;

describeWithPart("control-plane", "the manifests of infra/management, on a real API server", (binaries) => {
  let stage: ManagementStage;
  beforeAll(async () => {
    stage = await startManagement(binaries);
    expect(await apply(findManifest("Namespace", base), "")).toEqual([201, ""]);
    await apply(findManifest("ServiceAccount", base), "");
  });
  afterAll(() => stage?.close());

  /** Returns the status code, and the message of a rejection. */
  async function apply(manifest: Manifest, query = "&dryRun=All"): Promise<[number, string]> {
    const path = `${getManifestPath(manifest)}?fieldManager=test&fieldValidation=Strict${query}`;
    const contentType = "application/apply-patch+yaml";
    const answer = await stage.admin.send({ method: "PATCH", path, contentType, body: manifest });
    return [answer.status, answer.status < 300 ? "" : JSON.parse(answer.body).message];
  }

  test.each([...base, ...home, ...sharding].map((each) => [each.kind, each.metadata.name, each] as const))(
    "%s %s is accepted with every field",
    async (_kind, _name, manifest) => {
      const [code, said] = await apply(manifest);
      expect(said).toBe("");
      expect([200, 201]).toContain(code);
    },
  );

  test("an unknown field is rejected", async () => {
    const manifest = findManifest("Deployment", base);
    const [code, said] = await apply({ ...manifest, spec: { ...Object(manifest["spec"]), replica: 2 } });
    expect([code, said]).toEqual([expect.any(Number), expect.stringContaining(".spec.replica")]);
    expect(code).toBeGreaterThanOrEqual(400);
  });

  testWithPart("kubectl")(
    "kubectl builds accepted manifests, also with clusters that are found there and shared",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "overlay-"));
      try {
        const components = [HOME, SHARDING].map((component) => relative(folder, component));
        const overlay = { resources: [relative(folder, MANAGEMENT)], components };
        await writeFile(join(folder, "kustomization.yaml"), stringify(overlay));
        const { stdout } = await run("kubectl", ["kustomize", folder]);
        const made = parseManifests(stdout);
        expect(made).toHaveLength(base.length + home.length + sharding.length);
        for (const manifest of made) expect((await apply(manifest))[1]).toBe("");
        const { replicas, template } = getDeployment(made);
        const [{ args, env }] = template.spec.containers;
        expect([replicas, template.spec.automountServiceAccountToken]).toEqual([3, true]);
        expect(args).toContain("--cluster-defaults=/etc/serverless-ccm/cluster-defaults.yaml");
        expect(args).toContain("--shard-by=kubernetes:");
        expect(args).toContain("--shard-name=$(POD_NAME)");
        expect(env).toContainEqual({
          name: "POD_NAME",
          valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
        });
        const settings = made.find(
          ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "serverless-ccm-relay",
        );
        expect(settings).toMatchObject({ data: { CLUSTERS_FILE: "kubernetes:" } });
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );

  describe("the namespace with the restricted standard", () => {
    type Spec = DeploymentSpec["template"]["spec"];
    async function admit(spec: object): Promise<[number, string]> {
      const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "relay", labels }, spec };
      const path = "/api/v1/namespaces/serverless-ccm/pods?dryRun=All&fieldValidation=Strict";
      const answer = await stage.admin.send({ method: "POST", path, body });
      return [answer.status, answer.status < 300 ? "" : JSON.parse(answer.body).message];
    }
    const inContainer = (spec: Spec, difference: object): object => {
      const [container] = spec.containers;
      const securityContext = { ...container.securityContext, ...difference };
      return { ...spec, containers: [{ ...container, securityContext }] };
    };

    test("admits the relay's pod", async () => {
      expect(await admit(deployment.template.spec)).toEqual([201, ""]);
    });

    const ROWS: readonly [string, (spec: Spec) => object, string][] = [
      ["may gain privileges", (spec) => inContainer(spec, { allowPrivilegeEscalation: true }), "Escalation"],
      [
        "keeps capabilities",
        (spec) => inContainer(spec, { capabilities: { drop: [] } }),
        "unrestricted capabilities",
      ],
      [
        "may be root",
        (spec) => ({ ...spec, securityContext: { ...spec.securityContext, runAsNonRoot: false } }),
        "runAsNonRoot",
      ],
      [
        "may call everything of the kernel",
        (spec) => ({ ...spec, securityContext: { ...spec.securityContext, seccompProfile: undefined } }),
        "seccompProfile",
      ],
    ];
    test.each(ROWS)("refuses a pod that %s", async (_what, change, said) => {
      expect(await admit(change(deployment.template.spec))).toEqual([403, expect.stringContaining(said)]);
    });
  });

  const Review = z.object({ status: z.object({ allowed: z.boolean() }) });
  const { name: account = "", namespace: ours = "" } = findManifest("ServiceAccount", base).metadata;
  async function mayRelay(verb: string, resource: string, group = "", where?: string): Promise<boolean> {
    const spec = {
      user: `system:serviceaccount:${ours}:${account}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${ours}`, "system:authenticated"],
      resourceAttributes: { verb, group, resource, ...(where === undefined ? {} : { namespace: where }) },
    };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    return Review.parse(JSON.parse(await stage.ask("POST", path, body))).status.allowed;
  }
  const KAMAJI = "kamaji.clastix.io";

  test("the relay may read only Secrets, and only where it finds clusters by them", async () => {
    expect(await mayRelay("list", "secrets")).toBe(false);
    for (const each of home) expect((await apply(each, ""))[1]).toBe("");
    for (const verb of ["get", "list", "watch"])
      expect([verb, await mayRelay(verb, "secrets")]).toEqual([verb, true]);
    for (const verb of ["list", "watch"])
      expect(await mayRelay(verb, "tenantcontrolplanes", KAMAJI)).toBe(true);
    for (const verb of ["create", "update", "patch", "delete"]) {
      expect([verb, await mayRelay(verb, "secrets")]).toEqual([verb, false]);
      expect([verb, await mayRelay(verb, "tenantcontrolplanes", KAMAJI)]).toEqual([verb, false]);
    }
    for (const resource of ["configmaps", "nodes", "pods", "serviceaccounts"])
      expect([resource, await mayRelay("get", resource)]).toEqual([resource, false]);
  });

  test("replicas find each other with their ServiceAccount's rights, only in their own namespace", async () => {
    expect(await mayRelay("list", "leases", COORDINATION, ours)).toBe(false);
    for (const each of sharding) expect((await apply(each, ""))[1]).toBe("");
    const path = `/api/v1/namespaces/${ours}/serviceaccounts/${account}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const answer = z.object({ status: z.object({ token: z.string() }) });
    const { token } = answer.parse(JSON.parse(await stage.ask("POST", path, request))).status;
    const options = {
      ...(await getConnectOptions(stage.plane, "admin")),
      authorization: async () => `Bearer ${token}`,
    };
    const notes: MembershipNote[] = [];
    const [a, b] = ["a", "b"].map((self) =>
      joinByLease({
        ...{ self, identity: "1", namespace: ours, clock: systemClock, random: Math.random },
        connect: async () => connect(options),
        note: (note) => void notes.push(note),
      }),
    );
    await waitUntilTrue(`both to know: ${JSON.stringify(notes)}`, () =>
      [a, b].every((each) => each?.replicas()?.join() === "a,b"),
    );
    await b?.leave();
    await waitUntilTrue("the other to know", () => a?.replicas()?.join() === "a");
    await a?.leave();
    const leases = await stage.ask("GET", `/apis/${COORDINATION}/v1/namespaces/${ours}/leases`);
    expect(JSON.parse(leases).items).toEqual([]);

    const [role] = sharding.filter(({ kind }) => kind === "Role");
    expect(role).toMatchObject({
      rules: [{ verbs: ["get", "list", "watch", "create", "update", "delete"] }],
    });
    for (const verb of ["list", "update"]) {
      expect([verb, await mayRelay(verb, "leases", COORDINATION, "kube-system")]).toEqual([verb, false]);
      expect([verb, await mayRelay(verb, "configmaps", "", ours)]).toEqual([verb, false]);
    }
  });
});

const COORDINATION = "coordination.k8s.io";

test.each([MANAGEMENT, HOME, SHARDING, OPERATOR])(
  "the kustomization of %s names each file in its folder",
  async (folder) => {
    const files = (await readdir(folder)).filter((name) => /\.yaml$/.test(name));
    expect([...(await listResources(folder)), "kustomization.yaml"].toSorted()).toEqual(files.toSorted());
  },
);

test("selectors for relays select these pods", () => {
  expect(deployment.selector.matchLabels).toEqual(labels);
  expect(findManifest("Service", base)).toMatchObject({ spec: { selector: labels } });
  expect(findManifest("PodDisruptionBudget", base)).toMatchObject({
    spec: { selector: { matchLabels: labels } },
  });
  expect(findManifest("NetworkPolicy", base)).toMatchObject({
    spec: { podSelector: { matchLabels: labels } },
  });
});

test("the NetworkPolicy allows the relay's traffic from the page on traces", async () => {
  const page = await readFile(join(ROOT, "docs/how-to/trace.md"), "utf8");
  const [, endpoint = ""] = /^ +OTEL_EXPORTER_OTLP_ENDPOINT=(\S+)$/m.exec(page) ?? [];
  const Rule = z.object({
    to: z.array(z.unknown()).optional(),
    ports: z.array(z.object({ protocol: z.string(), port: z.unknown() })),
  });
  const { egress } = z.object({ egress: z.array(Rule) }).parse(findManifest("NetworkPolicy", base)["spec"]);
  const ports = egress.flatMap((rule) => rule.ports.map(({ protocol, port }) => `${protocol} ${port}`));
  expect(ports).toContain(`TCP ${new URL(endpoint).port}`);
});

test("a pod's grace period is longer than the work in flight takes", () => {
  const { terminationGracePeriodSeconds } = deployment.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_TIMEOUT_MS / 1_000);
});

test("a relay starts with the container's arguments, and serves the pages of the probes", async () => {
  const folder = await mkdtemp(join(tmpdir(), "container-"));
  const clusters = {
    name: "blue",
    server: "https://127.0.0.1:1",
    cloud: { provider: "memory", instancesFile: "none.json" },
    signIn: { relay: { kind: "token-file", file: join(folder, "token") } },
  };
  await writeFile(join(folder, "token"), "token");
  await writeFile(join(folder, "clusters.yaml"), stringify({ clusters: [clusters] }));
  const [container] = deployment.template.spec.containers;
  const { data } = z
    .object({ data: z.record(z.string(), z.string()) })
    .parse(findManifest("ConfigMap", base));
  const environment: Record<string, string> = {
    ...data,
    POD_IP: "127.0.0.1",
    CLUSTERS_FILE: join(folder, "clusters.yaml"),
    ...NO_AWS,
  };
  const [port] = container.ports;
  const args = container.args.map((arg) =>
    arg
      .replaceAll(/\$\((\w+)\)/g, (_, name: string) => environment[name] ?? `no ${name}`)
      .replace(`--port=${port.containerPort}`, "--port=0"),
  );
  expect(args).toContain("--port=0");
  const program = startProgram(args, environment);
  try {
    const { url } = await program.line("Serving");
    const status = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status;
    expect(await status(container.livenessProbe.httpGet.path)).toBe(200);
    expect(await status(container.readinessProbe.httpGet.path)).toBe(503);
    expect(await program.end("SIGTERM")).toBe(0);
  } finally {
    await program.end("SIGKILL");
    await rm(folder, { recursive: true });
  }
});

const NO_AWS = {
  AWS_ACCESS_KEY_ID: "x",
  AWS_SECRET_ACCESS_KEY: "x",
  AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:1",
};
