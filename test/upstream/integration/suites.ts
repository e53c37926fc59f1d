import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { getChosenMinor, getModuleFolder, readVersion } from "#test/setup/control-plane-build.ts";
import type { Part } from "#test/setup/parts.ts";
import { buildTests, type TestSource } from "#test/upstream/integration/build.ts";
import { runTests, type TestRun } from "#test/upstream/integration/run-tests.ts";
import type { TestRow, UpstreamSuite } from "#test/upstream/suite.ts";

const NEEDS = "Go; kube-apiserver and etcd as for the tests on a real API server";

/** Nodes: the taint, and the addresses by the annotation of the node IP. */
export const cloudProviderSuite = await defineSuite("cloudprovider");

/** Load balancers of Services: the tests of the package that start a service controller. */
export const serviceSuite = await defineSuite("service", [
  "Test_ServiceLoadBalancerEnableLoadBalancerClass",
  "Test_SetLoadBalancerClassThenUpdateLoadBalancerClass",
  "Test_UpdateLoadBalancerWithLoadBalancerClass",
  "Test_ServiceLoadBalancerMixedProtocolSetup",
  "Test_ServiceLoadBalancerIPMode",
]);

/**
 * End-to-end specs: the node of a machine that is gone is deleted, and the finalizer of a Service with a load
 * balancer. Their module is of one version of Kubernetes.
 */
export const endToEndSuite: UpstreamSuite = {
  ...{
    name: "e2e",
    source: "k8s.io/kubernetes/test/e2e",
    needs: NEEDS,
    version: await readVersion(undefined),
  },
  run: (say) => runOnBoth({ name: "e2e", package: ".", module: E2E_MODULE }, undefined, say),
};

const E2E_MODULE = fileURLToPath(new URL("../e2e", import.meta.url));

/** Defines the suite of a package in Kubernetes' test/integration; `only` names the tests that run. */
async function defineSuite(name: string, only?: readonly string[]): Promise<UpstreamSuite> {
  const source = `k8s.io/kubernetes/test/integration/${name}`;
  return {
    ...{ name, source, needs: NEEDS, version: await readVersion(getChosenMinor()) },
    run: (say) => runOnBoth({ name, package: source, module: getModuleFolder() }, only, say),
  };
}

async function runOnBoth(
  source: TestSource,
  only: readonly string[] | undefined,
  say: (line: string) => void,
): Promise<Part<readonly TestRow[]>> {
  const built = await buildTests(source, say);
  if (built.kind === "missing") return built;
  const plane = await getControlPlaneBinaries(say);
  if (plane.kind === "missing") return plane;
  const folder = await mkdtemp(join(tmpdir(), "upstream-"));
  const options = { only, etcd: plane.value.etcd, folder };
  say("running the tests on the stock controller");
  const stock = await runTests(built.value.stock, { ...options, log: "stock.log" });
  const missing = only?.filter((test) => !stock.outcomes.has(test)) ?? [];
  if (missing.length > 0) throw new Error(`${source.package} has no test ${missing.join(", ")}`);
  if (!hasPassed(stock))
    throw new Error(`the stock controller does not pass: see ${join(folder, "stock.log")}`);
  say("running them on serverless-ccm");
  const ours = await runTests(built.value.ours, { ...options, log: "ours.log" });
  const rows = buildRows(stock, ours);
  if (hasPassed(ours)) await rm(folder, { recursive: true });
  else if (rows.every((row) => row.stock === row.ours))
    throw new Error(
      `the tests ended with ${ours.exitCode} after the last one: see ${join(folder, "ours.log")}`,
    );
  else say(`the logs of the tests and of serverless-ccm are in ${folder}`);
  return { kind: "present", value: rows };
}

function hasPassed({ exitCode, outcomes }: TestRun): boolean {
  return exitCode === 0 && [...outcomes.values()].every((outcome) => outcome === "passed");
}

/** Builds a row for each test of the stock controller's run. */
export function buildRows(stock: TestRun, ours: TestRun): TestRow[] {
  return [...stock.outcomes].map(([test, outcome]) => ({
    ...{ test, stock: outcome, ours: ours.outcomes.get(test) ?? "did not run" },
    ...(ours.outcomes.get(test) === outcome ? {} : { detail: ours.messages.join("\n") }),
  }));
}
