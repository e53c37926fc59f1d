import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { findOpenApiDocuments, getOpenApiDocuments } from "#test/openapi/documents.ts";
import { getAwsModels } from "#test/setup/aws-models.ts";
import { getAwsTools } from "#test/setup/aws-tools.ts";
import { getControlPlaneBinaries, getEtcdutl } from "#test/setup/control-plane-binaries.ts";
import { getFromPath } from "#test/setup/get-from-path.ts";
import { getHadolint } from "#test/setup/hadolint.ts";
import { getHcl2tojson } from "#test/setup/hcl2tojson.ts";
import { LEFT_TO_ALL, mayBuildControlPlane } from "#test/setup/modes.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import { listNeededParts } from "#test/setup/needed-parts.ts";
import type { Parts } from "#test/setup/parts.ts";
import { getPrometheusProgram } from "#test/setup/prometheus-programs.ts";
import { getGoJudge, getPythonJudge } from "#test/setup/vendor-judges.ts";

/**
 * Finds or creates what the files of this run need from the machine, provides it to them, and prints a line
 * for each missing part. Returns the cleanup of this run.
 */
export default async function setup(root: TestProject): Promise<() => Promise<void>> {
  const mayBuild = mayBuildControlPlane(root.vitest.vite.config.mode);
  const parts: Partial<Parts> = {};
  const provideParts = async (paths: readonly string[]): Promise<void> => {
    const named = [...listNeededParts(paths), ...(paths.some(mayCallAws) ? (["aws-models"] as const) : [])];
    const needed = [...new Set(named)].filter((name) => parts[name] === undefined);
    Object.assign(parts, await makeParts(needed, mayBuild));
    root.provide("parts", parts);
    root.provide("openApiFolder", await findDocuments(parts));
  };
  await provideParts(root.vitest.state.getPaths());
  let builds = await mkdtemp(join(tmpdir(), "builds-"));
  root.provide("builds", builds);
  const clear = (): Promise<void> => rm(builds, { recursive: true, force: true });
  // A rerun has other sources, and perhaps other files.
  root.onTestsRerun(async (specifications) => {
    await provideParts(specifications.map(({ moduleId }) => moduleId));
    await clear();
    builds = await mkdtemp(join(tmpdir(), "builds-"));
    root.provide("builds", builds);
  });
  return clear;
}

/** Whether the setup file that checks calls to AWS belongs to a test file's project: only core's lack it. */
function mayCallAws(path: string): boolean {
  return !path.includes("/test/core/");
}

/** How a part is found or created, and the suites that are skipped without it. */
interface Maker<Name extends keyof Parts> {
  readonly suites: string;
  make(mayBuild: boolean): Promise<Parts[Name]>;
}

const MAKERS: { readonly [Name in keyof Parts]: Maker<Name> } = {
  "control-plane": {
    suites: "suites on a real API server",
    make: async (mayBuild) => (await makeControlPlane(mayBuild))[0],
  },
  etcdutl: {
    suites: "tests that set a real API server's store back",
    make: async (mayBuild) => (await makeControlPlane(mayBuild))[1],
  },
  openapi: { suites: "suites that read OpenAPI documents", make: makeDocuments },
  moto: { suites: "suites on moto", make: () => getMotoProgram(say) },
  "aws-tools": {
    suites: "suites with cfn-lint and AWS's command line",
    make: async (mayBuild) => (mayBuild ? getAwsTools(say) : LEFT_TO_ALL),
  },
  "aws-models": {
    suites: "checks of requests to AWS and its answers",
    make: () => getAwsModels(say),
  },
  hcl2tojson: {
    suites: "suites on the Terraform module's resources",
    make: async (mayBuild) => (mayBuild ? getHcl2tojson(say) : LEFT_TO_ALL),
  },
  "digitalocean-judge": {
    suites: "suites that judge exchanges with DigitalOcean",
    make: async (mayBuild) => (mayBuild ? getGoJudge("digitalocean", say) : LEFT_TO_ALL),
  },
  "hcloud-judge": {
    suites: "suites that judge exchanges with Hetzner",
    make: async (mayBuild) => (mayBuild ? getGoJudge("hcloud", say) : LEFT_TO_ALL),
  },
  "openstack-judge": {
    suites: "suites that judge exchanges with OpenStack",
    make: async (mayBuild) => (mayBuild ? getPythonJudge("openstack", say) : LEFT_TO_ALL),
  },
  "oci-judge": {
    suites: "suites that judge exchanges with Oracle Cloud",
    make: async (mayBuild) => (mayBuild ? getPythonJudge("oci", say) : LEFT_TO_ALL),
  },
  "systemd-analyze": { suites: "tests of systemd's units", make: () => getFromPath("systemd-analyze") },
  kubectl: { suites: "tests of what kubectl makes of manifests", make: () => getFromPath("kubectl") },
  hadolint: {
    suites: "tests of the Dockerfile",
    make: async (mayBuild) => (mayBuild ? getHadolint(say) : LEFT_TO_ALL),
  },
  promtool: {
    suites: "tests of alerts",
    make: async (mayBuild) => (mayBuild ? getPrometheusProgram("promtool", say) : LEFT_TO_ALL),
  },
  prometheus: {
    suites: "tests of what Prometheus makes of a scrape",
    make: async (mayBuild) => (mayBuild ? getPrometheusProgram("prometheus", say) : LEFT_TO_ALL),
  },
  chromium: { suites: "tests of the relay's page in a browser", make: () => getFromPath("chromium") },
};

/** Makes these parts at the same time, and prints a line for each missing one. */
async function makeParts(names: readonly (keyof Parts)[], mayBuild: boolean): Promise<Partial<Parts>> {
  const made = await Promise.all(
    names.map(async (name) => {
      const { suites, make }: Maker<keyof Parts> = MAKERS[name];
      return { name, suites, part: await make(mayBuild) };
    }),
  );
  const lacksPlane = made.some(({ name, part }) => name === "control-plane" && part.kind === "missing");
  for (const { name, suites, part } of made) {
    // Without a control plane its store is missing for the same reason.
    if (name !== "etcdutl" || !lacksPlane) sayMissing(suites, part);
  }
  return Object.fromEntries(made.map(({ name, part }) => [name, part]));
}

type ControlPlaneParts = readonly [Parts["control-plane"], Parts["etcdutl"]];

let controlPlane: Promise<ControlPlaneParts> | undefined;

/** Makes the control plane and its tool once in a run, because the control plane's value names the tool. */
function makeControlPlane(mayBuild: boolean): Promise<ControlPlaneParts> {
  controlPlane ??= findControlPlane(mayBuild);
  return controlPlane;
}

async function findControlPlane(mayBuild: boolean): Promise<ControlPlaneParts> {
  const plane = await getControlPlaneBinaries(say, mayBuild);
  if (plane.kind === "missing") return [plane, plane];
  const etcdutl = await getEtcdutl(say, mayBuild);
  if (etcdutl.kind === "missing") return [plane, etcdutl];
  return [{ kind: "present", value: { ...plane.value, etcdutl: etcdutl.value } }, etcdutl];
}

async function makeDocuments(mayBuild: boolean): Promise<Parts["openapi"]> {
  const [plane] = await makeControlPlane(mayBuild);
  if (plane.kind === "missing") return plane;
  const found = mayBuild
    ? await getOpenApiDocuments(plane.value, say)
    : await findOpenApiDocuments(plane.value);
  return found === undefined ? LEFT_TO_ALL : { kind: "present", value: found };
}

/** Every file's exchanges with the embedded API server are judged by the documents that already exist. */
async function findDocuments({ openapi }: Partial<Parts>): Promise<string | null> {
  if (openapi?.kind === "present") return openapi.value;
  const plane = await getControlPlaneBinaries(say, false);
  return (plane.kind === "present" ? await findOpenApiDocuments(plane.value) : undefined) ?? null;
}

function sayMissing(what: string, part: Parts[keyof Parts]): void {
  if (part.kind === "missing" && !part.isLeftToAll) say(`${what} are skipped: ${part.because}`);
}

function say(line: string): void {
  process.stderr.write(`test setup: ${line}\n`);
}
