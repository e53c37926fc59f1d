import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { getAwsTools } from "#test/setup/aws-tools.ts";
import { getControlPlaneBinaries, getEtcdutl } from "#test/setup/control-plane-binaries.ts";
import { getFromPath } from "#test/setup/get-from-path.ts";
import { getHadolint } from "#test/setup/hadolint.ts";
import { getHcl2tojson } from "#test/setup/hcl2tojson.ts";
import { LEFT_TO_ALL, mayBuildControlPlane } from "#test/setup/modes.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import type { Parts } from "#test/setup/parts.ts";
import { getPrometheusProgram } from "#test/setup/prometheus-programs.ts";

/**
 * Finds or creates what the suites need from the machine, provides it to them, and prints a line for each
 * missing part. Returns the cleanup of this run.
 */
export default async function setup(root: TestProject): Promise<() => Promise<void>> {
  const onlyPure = root.vitest.projects.every(({ name }) => name === "core");
  root.provide(
    "parts",
    onlyPure ? NOT_NEEDED : await makeParts(mayBuildControlPlane(root.vitest.vite.config.mode)),
  );
  let builds = await mkdtemp(join(tmpdir(), "builds-"));
  root.provide("builds", builds);
  const clear = (): Promise<void> => rm(builds, { recursive: true, force: true });
  // A rerun has other sources.
  root.onTestsRerun(async () => {
    await clear();
    builds = await mkdtemp(join(tmpdir(), "builds-"));
    root.provide("builds", builds);
  });
  return clear;
}

const PURE = { kind: "missing", because: "the pure tests start nothing" } as const;
const NOT_NEEDED: Parts = {
  "control-plane": PURE,
  etcdutl: PURE,
  moto: PURE,
  "aws-tools": PURE,
  hcl2tojson: PURE,
  "systemd-analyze": PURE,
  kubectl: PURE,
  hadolint: PURE,
  promtool: PURE,
  prometheus: PURE,
  chromium: PURE,
};

async function makeParts(mayBuild: boolean): Promise<Parts> {
  const [
    [plane, etcdutl],
    moto,
    awsTools,
    hcl2tojson,
    systemdAnalyze,
    kubectl,
    hadolint,
    promtool,
    prometheus,
    chromium,
  ] = await Promise.all([
    makeControlPlane(mayBuild),
    getMotoProgram(say),
    mayBuild ? getAwsTools(say) : LEFT_TO_ALL,
    mayBuild ? getHcl2tojson(say) : LEFT_TO_ALL,
    getFromPath("systemd-analyze"),
    getFromPath("kubectl"),
    mayBuild ? getHadolint(say) : LEFT_TO_ALL,
    mayBuild ? getPrometheusProgram("promtool", say) : LEFT_TO_ALL,
    mayBuild ? getPrometheusProgram("prometheus", say) : LEFT_TO_ALL,
    getFromPath("chromium"),
  ]);
  sayMissing("suites on a real API server", plane);
  if (plane.kind === "present") sayMissing("tests that set a real API server's store back", etcdutl);
  sayMissing("suites on moto", moto);
  sayMissing("suites with cfn-lint and AWS's command line", awsTools);
  sayMissing("suites on the Terraform module's resources", hcl2tojson);
  sayMissing("tests of systemd's units", systemdAnalyze);
  sayMissing("tests of what kubectl makes of manifests", kubectl);
  sayMissing("tests of the Dockerfile", hadolint);
  sayMissing("tests of alerts", promtool);
  sayMissing("tests of what Prometheus makes of a scrape", prometheus);
  sayMissing("tests of the relay's page in a browser", chromium);
  return {
    "control-plane": plane,
    etcdutl,
    moto,
    "aws-tools": awsTools,
    hcl2tojson,
    "systemd-analyze": systemdAnalyze,
    kubectl,
    hadolint,
    promtool,
    prometheus,
    chromium,
  };
}

async function makeControlPlane(mayBuild: boolean): Promise<[Parts["control-plane"], Parts["etcdutl"]]> {
  const plane = await getControlPlaneBinaries(say, mayBuild);
  if (plane.kind === "missing") return [plane, plane];
  const etcdutl = await getEtcdutl(say, mayBuild);
  if (etcdutl.kind === "missing") return [plane, etcdutl];
  return [{ kind: "present", value: { ...plane.value, etcdutl: etcdutl.value } }, etcdutl];
}

function sayMissing(what: string, part: Parts[keyof Parts]): void {
  if (part.kind === "missing" && !part.isLeftToAll) say(`${what} are skipped: ${part.because}`);
}

function say(line: string): void {
  process.stderr.write(`test setup: ${line}\n`);
}
