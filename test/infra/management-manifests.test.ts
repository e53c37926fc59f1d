import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import * as z from "zod";
import { DRAIN_TIMEOUT_MS } from "#cli/serve.ts";
import { connect } from "#kube/client/connect.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { joinByLease } from "#relay/sharding/lease-membership.ts";
import type { MembershipNote } from "#relay/sharding/membership.ts";
import { access } from "#test/access.ts";
import { startProgram } from "#test/cli/program.ts";
import { type ManagementStage, startManagement } from "#test/config/home/kubernetes/management-stage.ts";
import {
  type DeploymentSpec,
  deploymentOf,
  MANAGEMENT,
  type Manifest,
  manifestsIn,
  manifestsOf,
  oneOf,
  pathOfManifest,
  resourcesOf,
} from "#test/infra/management-manifests.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";
import { untilTrue } from "#test/until-true.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);
const HOME = join(MANAGEMENT, "kubernetes-home");
const SHARDING = join(MANAGEMENT, "sharding");
const base = await manifestsOf(MANAGEMENT);
const home = await manifestsOf(HOME);
const sharding = await manifestsOf(SHARDING);
const OPERATOR = join(MANAGEMENT, "prometheus-operator");
const deployment = deploymentOf(base);
const labels = deployment.template.metadata.labels;

describeWithPart("control-plane", "the manifests of infra/management, on a real API server", (binaries) => {
  let stage: ManagementStage;
  beforeAll(async () => {
    stage = await startManagement(binaries);
    expect(await apply(oneOf("Namespace", base), "")).toEqual([201, ""]);
    await apply(oneOf("ServiceAccount", base), "");
  });
  afterAll(() => stage?.close());

  /** Its code, and what it says of a refusal. */
  async function apply(manifest: Manifest, query = "&dryRun=All"): Promise<[number, string]> {
    const path = `${pathOfManifest(manifest)}?fieldManager=test&fieldValidation=Strict${query}`;
    const contentType = "application/apply-patch+yaml";
    const answer = await stage.admin.send({ method: "PATCH", path, contentType, body: manifest });
    return [answer.status, answer.status < 300 ? "" : JSON.parse(answer.body).message];
  }

  test.each([...base, ...home, ...sharding].map((each) => [each.kind, each.metadata.name, each] as const))(
    "%s %s is taken, every field of it",
    async (_kind, _name, manifest) => {
      const [code, said] = await apply(manifest);
      expect(said).toBe("");
      expect([200, 201]).toContain(code);
    },
  );

  test("a field that there is not is refused", async () => {
    const manifest = oneOf("Deployment", base);
    const [code, said] = await apply({ ...manifest, spec: { ...Object(manifest["spec"]), replica: 2 } });
    expect([code, said]).toEqual([expect.any(Number), expect.stringContaining(".spec.replica")]);
    expect(code).toBeGreaterThanOrEqual(400);
  });

  testWithPart("kubectl")(
    "kubectl makes of it what is taken, with clusters found there and shared as well",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "overlay-"));
      try {
        const components = [HOME, SHARDING].map((component) => relative(folder, component));
        const overlay = { resources: [relative(folder, MANAGEMENT)], components };
        await writeFile(join(folder, "kustomization.yaml"), stringify(overlay));
        const { stdout } = await run("kubectl", ["kustomize", folder]);
        const made = manifestsIn(stdout);
        expect(made).toHaveLength(base.length + home.length + sharding.length);
        for (const manifest of made) expect((await apply(manifest))[1]).toBe("");
        const { replicas, template } = deploymentOf(made);
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

  describe("the namespace, which is held to the standard restricted,", () => {
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
    test.each(ROWS)("refuses one that %s", async (_what, change, said) => {
      expect(await admit(change(deployment.template.spec))).toEqual([403, expect.stringContaining(said)]);
    });
  });

  const Review = z.object({ status: z.object({ allowed: z.boolean() }) });
  const { name: account = "", namespace: ours = "" } = oneOf("ServiceAccount", base).metadata;
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

  test("the relay reads Secrets where clusters are found by them, and nothing else anywhere", async () => {
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

  test("replicas know each other by what their ServiceAccount may do, in their own namespace alone", async () => {
    expect(await mayRelay("list", "leases", COORDINATION, ours)).toBe(false);
    for (const each of sharding) expect((await apply(each, ""))[1]).toBe("");
    const path = `/api/v1/namespaces/${ours}/serviceaccounts/${account}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const answer = z.object({ status: z.object({ token: z.string() }) });
    const { token } = answer.parse(JSON.parse(await stage.ask("POST", path, request))).status;
    const options = { ...(await access(stage.plane, "admin")), authorization: async () => `Bearer ${token}` };
    const notes: MembershipNote[] = [];
    const [a, b] = ["a", "b"].map((self) =>
      joinByLease({
        ...{ self, identity: "1", namespace: ours, clock: systemClock, random: Math.random },
        connect: async () => connect(options),
        note: (note) => void notes.push(note),
      }),
    );
    await untilTrue(`both to know: ${JSON.stringify(notes)}`, () =>
      [a, b].every((each) => each?.replicas()?.join() === "a,b"),
    );
    await b?.leave();
    await untilTrue("the other to know", () => a?.replicas()?.join() === "a");
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
  "the kustomization of %s names each file beside it",
  async (folder) => {
    const files = (await readdir(folder)).filter((name) => /\.yaml$/.test(name));
    expect([...(await resourcesOf(folder)), "kustomization.yaml"].toSorted()).toEqual(files.toSorted());
  },
);

test("what selects relays selects these", () => {
  expect(deployment.selector.matchLabels).toEqual(labels);
  expect(oneOf("Service", base)).toMatchObject({ spec: { selector: labels } });
  expect(oneOf("PodDisruptionBudget", base)).toMatchObject({ spec: { selector: { matchLabels: labels } } });
  expect(oneOf("NetworkPolicy", base)).toMatchObject({ spec: { podSelector: { matchLabels: labels } } });
});

test("the NetworkPolicy lets out what the page on traces has a relay send", async () => {
  const page = await readFile(join(ROOT, "docs/how-to/trace.md"), "utf8");
  const [, endpoint = ""] = /^ +OTEL_EXPORTER_OTLP_ENDPOINT=(\S+)$/m.exec(page) ?? [];
  const Rule = z.object({
    to: z.array(z.unknown()).optional(),
    ports: z.array(z.object({ protocol: z.string(), port: z.unknown() })),
  });
  const { egress } = z.object({ egress: z.array(Rule) }).parse(oneOf("NetworkPolicy", base)["spec"]);
  const ports = egress.flatMap((rule) => rule.ports.map(({ protocol, port }) => `${protocol} ${port}`));
  expect(ports).toContain(`TCP ${new URL(endpoint).port}`);
});

test("a pod has as long to end as it takes for what is in flight, and more", () => {
  const { terminationGracePeriodSeconds } = deployment.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_TIMEOUT_MS / 1_000);
});

test("a relay starts with the container's arguments, and the probes ask for pages that it has", async () => {
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
  const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(oneOf("ConfigMap", base));
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
